//! Values in a Valkey or Redis.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context;
use encryption::{Cipher, Encrypted, EncryptionKey};
use redis::{
    Client, Cmd, FromRedisValue,
    aio::{ConnectionManager, ConnectionManagerConfig},
    cmd,
};
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout};

use crate::CacheConfig;

/// Time for an answer.
pub const TIMEOUT: Duration = Duration::from_millis(50);
/// How long the store is left alone after an answer that did not come.
pub const PAUSE: Duration = Duration::from_secs(1);
/// Name of the key, which is not stored: there is one.
const KEY: &str = "cache";

/// The store.
pub(crate) struct Valkey {
    connection: ConnectionManager,
    cipher: Cipher,
    circuit: Circuit,
}

impl Valkey {
    pub(crate) fn new(service: &str, config: &CacheConfig) -> anyhow::Result<Self> {
        let client = Client::open(config.url.expose_secret()).context("cache.url is not valid")?;
        let settings = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PAUSE))
            .set_response_timeout(Some(TIMEOUT));
        let key = EncryptionKey { id: KEY.to_owned(), key: config.key.clone() };
        Ok(Self {
            connection: ConnectionManager::new_lazy_with_config(client, settings)?,
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

    /// Returns what is stored under these names; none if the store does not answer.
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

/// Keeps calls from a store that does not answer. Open after a failure, until a call gets an answer: one in each [`PAUSE`] tries.
#[derive(Default)]
struct Circuit(Mutex<Option<Instant>>);

impl Circuit {
    /// Whether a call may be made. While the circuit is open, the caller is the one that tries.
    fn admits(&self, now: Instant) -> bool {
        let mut next_try = self.next_try();
        let admits = next_try.is_none_or(|at| at <= now);
        if admits && next_try.is_some() {
            *next_try = Some(now + PAUSE);
        }
        admits
    }

    /// Returns whether it was open.
    fn close(&self) -> bool {
        self.next_try().take().is_some()
    }

    /// Returns whether it was closed.
    fn open(&self, now: Instant) -> bool {
        self.next_try().replace(now + PAUSE).is_none()
    }

    fn next_try(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_call_in_a_pause_tries_a_store_that_does_not_answer() {
        let (circuit, begun) = (Circuit::default(), Instant::now());
        assert!(circuit.admits(begun) && circuit.admits(begun));
        assert!(circuit.open(begun), "the first failure");
        assert!(!circuit.open(begun), "another call of the same moment");
        assert!(!circuit.admits(begun + PAUSE / 2));
        let later = begun + PAUSE;
        assert!(circuit.admits(later), "one tries");
        assert!(!circuit.admits(later), "and no other");
        // the one that tries was dropped: another does
        assert!(circuit.admits(later + PAUSE));
        assert!(circuit.close());
        assert!(circuit.admits(later + PAUSE) && circuit.admits(later + PAUSE));
        assert!(!circuit.close());
    }
}
