//! Passwords: which are accepted, and their hashes (argon2id), computed off the request threads and
//! never more at once than the machine bears.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::Problem;
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, Version};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

const MIN_CHARS: usize = 8;
const MAX_BYTES: usize = 256;
/// Longer than this nobody waits for a turn.
const QUEUE: Duration = Duration::from_secs(5);

/// Refuses what is no password for a new or changed account.
///
/// # Errors
/// 422 naming the field.
pub(crate) fn check(pointer: &str, password: &SecretString, email: &str) -> Result<(), Problem> {
    let password = password.expose_secret();
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        return Err(Problem::invalid_field(
            pointer,
            format!("must have at least {MIN_CHARS} characters and at most {MAX_BYTES} bytes"),
        ));
    }
    if password.eq_ignore_ascii_case(email) {
        return Err(Problem::invalid_field(pointer, "must not be the e-mail address"));
    }
    Ok(())
}

/// Computes hashes. Clones share the limit.
#[derive(Clone)]
pub(crate) struct Hasher {
    permits: Arc<Semaphore>,
    memory: Arc<Memory>,
    /// What is compared when there is no such account, so that it takes as long.
    decoy: Arc<str>,
}

/// The right to compute one hash.
pub(crate) struct Turn<'h> {
    hasher: &'h Hasher,
    permit: tokio::sync::OwnedSemaphorePermit,
}

impl Hasher {
    /// # Errors
    /// When the system gives no randomness.
    pub(crate) fn new(concurrency: usize) -> anyhow::Result<Self> {
        let memory = Arc::new(Memory::default());
        let decoy = hash(&memory, b"nobody has this password")?;
        Ok(Self { permits: Arc::new(Semaphore::new(concurrency.max(1))), memory, decoy: decoy.into() })
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// 503 when too many wait.
    pub(crate) async fn turn(&self) -> Result<Turn<'_>, Problem> {
        let permit = tokio::time::timeout(QUEUE, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|late| Problem::unavailable("Signing in", late))?
            .map_err(Problem::internal)?;
        Ok(Turn { hasher: self, permit })
    }
}

impl Turn<'_> {
    /// The hash to store.
    ///
    /// # Errors
    /// 500.
    pub(crate) async fn hash(self, password: SecretString) -> Result<String, Problem> {
        let (permit, memory) = (self.permit, Arc::clone(&self.hasher.memory));
        blocking(move || {
            let result = hash(&memory, password.expose_secret().as_bytes());
            drop(permit);
            result
        })
        .await
    }

    /// Whether the password is the one. Without a `stored` hash it takes as long, and is not.
    ///
    /// # Errors
    /// 500.
    pub(crate) async fn verify(
        self,
        password: SecretString,
        stored: Option<String>,
    ) -> Result<bool, Problem> {
        let (permit, memory, known) = (self.permit, Arc::clone(&self.hasher.memory), stored.is_some());
        let against = stored.unwrap_or_else(|| self.hasher.decoy.to_string());
        blocking(move || {
            let right = verify(&memory, password.expose_secret().as_bytes(), &against);
            drop(permit);
            Ok(right? && known)
        })
        .await
    }
}

/// The working memory of hashes, kept from one to the next: given back to the system's allocator each
/// time, 19 MiB blocks would stay with every thread that ever computed one.
#[derive(Default)]
struct Memory(Mutex<Vec<Vec<Block>>>);

impl Memory {
    fn compute(&self, params: Params, password: &[u8], salt: &[u8], out: &mut [u8]) -> anyhow::Result<()> {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        blocks.resize(params.block_count(), Block::default());
        let done = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(password, salt, out, &mut blocks)
            .map_err(|e| anyhow::anyhow!("hashing: {e}"));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(blocks);
        done
    }
}

/// A hash in the PHC string format, with the recommended parameters.
fn hash(memory: &Memory, password: &[u8]) -> anyhow::Result<String> {
    let (params, mut salt, mut out) = (Params::DEFAULT, [0; 16], [0; Params::DEFAULT_OUTPUT_LEN]);
    aws_lc_rs::rand::fill(&mut salt)?;
    let (m, t, p) = (params.m_cost(), params.t_cost(), params.p_cost());
    memory.compute(params, password, &salt, &mut out)?;
    let (salt, out) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(out));
    Ok(format!("$argon2id$v=19$m={m},t={t},p={p}${salt}${out}"))
}

/// Whether `stored` (PHC string format, argon2id, any parameters) is of this password.
fn verify(memory: &Memory, password: &[u8], stored: &str) -> anyhow::Result<bool> {
    let broken = |what: &dyn std::fmt::Display| anyhow::anyhow!("a stored password hash: {what}");
    let stored = PasswordHash::new(stored).map_err(|e| broken(&e))?;
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else {
        return Err(broken(&"it has no salt or no hash"));
    };
    anyhow::ensure!(stored.algorithm.as_str() == "argon2id", broken(&"it is not argon2id"));
    let params = Params::try_from(&stored).map_err(|e| broken(&e))?;
    let mut out = vec![0; expected.as_bytes().len()];
    memory.compute(params, password, salt, &mut out)?;
    Ok(aws_lc_rs::constant_time::verify_slices_are_equal(&out, expected.as_bytes()).is_ok())
}

async fn blocking<T: Send + 'static>(
    f: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(f).await.map_err(Problem::internal)?.map_err(Problem::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_its_password_only_and_of_the_standard_form() {
        use argon2::PasswordVerifier;
        let memory = Memory::default();
        let stored = hash(&memory, b"right").unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(&memory, b"right", &stored).unwrap());
        assert!(!verify(&memory, b"wrong", &stored).unwrap());
        assert_ne!(stored, hash(&memory, b"right").unwrap(), "salted");
        // the library itself agrees, and older parameters still verify
        let parsed = PasswordHash::new(&stored).unwrap();
        assert!(Argon2::default().verify_password(b"right", &parsed).is_ok());
        let weak = "$argon2id$v=19$m=16,t=2,p=1$MTIzNDU2Nzg$Bn5hZ6ZCOhUwDcRDJ/1AsQ";
        assert!(!verify(&memory, b"right", weak).unwrap());
        assert!(
            verify(&memory, b"right", "$argon2i$v=19$m=16,t=2,p=1$MTIzNDU2Nzg$Bn5hZ6ZCOhUwDcRDJ/1AsQ")
                .is_err()
        );
        assert!(verify(&memory, b"right", "").is_err());
    }
}
