//! Values in a Valkey or Redis.

use std::time::Duration;

use anyhow::Context;
use encryption::{Cipher, Encrypted, EncryptionKey};
use redis::{
    Client, Cmd, FromRedisValue,
    aio::{ConnectionManager, ConnectionManagerConfig},
    cmd,
};
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout};

use crate::{CacheConfig, Circuit, PAUSE};

/// Time for an answer.
pub const TIMEOUT: Duration = Duration::from_millis(50);
/// Name of the key, which is not stored: there is one.
const KEY: &str = "cache";

/// A connection that is opened in the background, and reopened when it is lost. Call it within the runtime.
///
/// # Errors
/// If the client cannot be used.
pub fn connect(client: Client) -> anyhow::Result<ConnectionManager> {
    // the next call tries again: with retries, an untrusted certificate would look like a late answer
    let settings = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(PAUSE))
        .set_response_timeout(Some(TIMEOUT))
        .set_number_of_retries(0);
    let connection = ConnectionManager::new_lazy_with_config(client, settings)?;
    // a TLS connection takes several round trips: longer than the first call waits
    let mut first = connection.clone();
    tokio::spawn(async move { cmd("PING").query_async::<()>(&mut first).await });
    Ok(connection)
}

/// The store.
pub(crate) struct Valkey {
    connection: ConnectionManager,
    cipher: Cipher,
    circuit: Circuit,
}

impl Valkey {
    pub(crate) fn new(service: &str, config: &CacheConfig) -> anyhow::Result<Self> {
        let client = Client::open(config.url.expose_secret()).context("cache.url is not valid")?;
        let key = EncryptionKey { id: KEY.to_owned(), key: config.key.clone() };
        Ok(Self {
            connection: connect(client)?,
            cipher: Cipher::new(&format!("{service} cache"), &[key]).context("cache.key is not valid")?,
            circuit: Circuit::default(),
        })
    }

    /// Checks that the store answers.
    pub(crate) async fn ping(&self) -> Result<(), String> {
        let mut connection = self.connection.clone();
        let pong: redis::RedisResult<()> = cmd("PING").query_async(&mut connection).await;
        pong.map_err(|error| error.to_string())
    }

    /// Returns the values stored under these names; none if the store does not answer.
    pub(crate) async fn get(&self, names: &[String]) -> Option<Vec<Option<Vec<u8>>>> {
        let found: Vec<Option<Vec<u8>>> = self.call(cmd("MGET").arg(names)).await?;
        let readable = names.iter().zip(found).map(|(name, bytes)| {
            let encrypted = Encrypted { key_id: KEY.to_owned(), bytes: bytes? };
            self.cipher.decrypt(&encrypted, name).ok()
        });
        Some(readable.collect())
    }

    /// Returns whether the store has confirmed it.
    pub(crate) async fn put(&self, name: &str, bytes: &[u8], life: Duration) -> bool {
        let Ok(encrypted) = self.cipher.encrypt(bytes, name) else { return false };
        let life = u64::try_from(life.as_millis()).unwrap_or(u64::MAX).max(1);
        let mut set = cmd("SET");
        set.arg(name).arg(encrypted.bytes).arg("PX").arg(life);
        self.call::<()>(&set).await.is_some()
    }

    pub(crate) async fn remove(&self, name: &str) {
        self.call::<()>(cmd("DEL").arg(name)).await;
    }

    /// Returns none without an answer.
    async fn call<T: FromRedisValue>(&self, command: &Cmd) -> Option<T> {
        if !self.circuit.admits(Instant::now()) {
            return None;
        }
        let mut connection = self.connection.clone();
        let answer = timeout(TIMEOUT, command.query_async::<T>(&mut connection)).await;
        let error: anyhow::Error = match answer {
            Ok(Ok(answer)) => {
                if self.circuit.close() {
                    tracing::info!("the cache answers again");
                }
                return Some(answer);
            }
            Ok(Err(error)) => error.into(),
            Err(late) => late.into(),
        };
        if self.circuit.open(Instant::now()) {
            tracing::warn!(%error, "the cache does not answer; what it may hold is read elsewhere");
        }
        None
    }
}
