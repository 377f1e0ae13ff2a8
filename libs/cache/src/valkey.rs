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
/// How long the store is left alone after an answer that did not come: first so long, and twice as long after each further one, up to
/// [`PAUSE`]. A machine that was busy for a moment costs a moment.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How long at most.
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
        // the next call tries again: with retries, a certificate that is not trusted would be an answer that is late
        let settings = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PAUSE))
            .set_response_timeout(Some(TIMEOUT))
            .set_number_of_retries(0);
        let key = EncryptionKey { id: KEY.to_owned(), key: config.key.clone() };
        let connection = ConnectionManager::new_lazy_with_config(client, settings)?;
        // a connection with TLS takes several exchanges: longer than the first call waits
        let mut first = connection.clone();
        tokio::spawn(async move { cmd("PING").query_async::<()>(&mut first).await });
        Ok(Self {
            connection,
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

/// Keeps calls from a store that does not answer. Open after a failure, until a call gets an answer: one tries in each pause, which grows.
#[derive(Default)]
struct Circuit(Mutex<Option<Open>>);

struct Open {
    next_try: Instant,
    pause: Duration,
}

impl Circuit {
    /// Whether a call may be made. While the circuit is open, the caller is the one that tries.
    fn admits(&self, now: Instant) -> bool {
        match &mut *self.state() {
            None => true,
            Some(open) if open.next_try <= now => {
                open.pause = (open.pause * 2).min(PAUSE);
                open.next_try = now + open.pause;
                true
            }
            Some(_) => false,
        }
    }

    /// Returns whether it was open.
    fn close(&self) -> bool {
        self.state().take().is_some()
    }

    /// Returns whether it was closed.
    fn open(&self, now: Instant) -> bool {
        let mut state = self.state();
        let was_closed = state.is_none();
        state.get_or_insert(Open { next_try: now + FIRST_PAUSE, pause: FIRST_PAUSE });
        was_closed
    }

    fn state(&self) -> MutexGuard<'_, Option<Open>> {
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
        assert!(!circuit.admits(begun + FIRST_PAUSE / 2));
        let later = begun + FIRST_PAUSE;
        assert!(circuit.admits(later), "one tries");
        assert!(!circuit.admits(later), "and no other");
        // the one that tries was dropped: another does
        assert!(circuit.admits(later + FIRST_PAUSE * 2));
        assert!(circuit.close());
        assert!(circuit.admits(later + PAUSE) && circuit.admits(later + PAUSE));
        assert!(!circuit.close());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_second_and_begin_anew_after_an_answer() {
        let (circuit, begun) = (Circuit::default(), Instant::now());
        let tries = |begun: Instant| -> Vec<u64> {
            circuit.open(begun);
            let ms = (0..4_000).filter(|ms| circuit.admits(begun + Duration::from_millis(*ms)));
            ms.collect()
        };
        assert_eq!(tries(begun), [50, 150, 350, 750, 1_550, 2_550, 3_550]);
        assert!(circuit.close());
        assert_eq!(tries(begun)[..2], [50, 150]);
    }
}
