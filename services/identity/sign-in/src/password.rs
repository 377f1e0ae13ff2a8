//! Passwords: which are accepted, and their hashes (argon2id). Hashes are computed on blocking threads, a configured
//! number at a time.
//!
//! A password is prepared before it is hashed (RFC 8265, OpaqueString): another keyboard or system may send the same characters
//! as other code points.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::Problem;
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, Version};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use people::field::InvalidField;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Password hashing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PasswordConfig {
    /// Maximum number of hashes computed at the same time. Each takes a core and 19 MiB (default: the number of cores).
    pub concurrency: usize,
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self { concurrency: std::thread::available_parallelism().map_or(2, usize::from) }
    }
}

/// Reasons why a hash was not computed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("too many passwords are being hashed")]
    Busy,
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Busy => Self::unavailable("The sign-in service", error),
            Error::Internal(error) => Self::internal(error),
        }
    }
}

const MIN_CHARS: usize = 8;
const MAX_BYTES: usize = 256;
/// Longest wait for a permit.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Checks a new password.
///
/// # Errors
/// Names the field.
pub fn check(pointer: &'static str, password: &SecretString, email: &str) -> Result<(), InvalidField> {
    let password = prepared(password.expose_secret());
    if password
        .chars()
        .any(|c| matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Unassigned))
    {
        return Err(InvalidField::new(
            pointer,
            "must not have control characters, nor any that Unicode does not know",
        ));
    }
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        let detail = format!("must have at least {MIN_CHARS} characters and at most {MAX_BYTES} bytes");
        return Err(InvalidField::new(pointer, detail));
    }
    if !email.is_empty() && prepared(email).to_lowercase() == password.to_lowercase() {
        return Err(InvalidField::new(pointer, "must not be the e-mail address"));
    }
    Ok(())
}

/// Returns the password with characters composed (normalization form C) and spaces of any width as spaces. Its case stays.
fn prepared(password: &str) -> Cow<'_, str> {
    let is_other_space = |c: char| c != ' ' && c.general_category() == GeneralCategory::SpaceSeparator;
    if is_nfc(password) && !password.contains(is_other_space) {
        return Cow::Borrowed(password);
    }
    Cow::Owned(password.chars().map(|c| if is_other_space(c) { ' ' } else { c }).nfc().collect())
}

/// Computes password hashes. Clones share the limit.
#[derive(Clone)]
pub struct Hasher {
    permits: Arc<Semaphore>,
    memory: Arc<Memory>,
    /// Verified for an unknown account, so that it takes as long as a known one.
    decoy: Arc<str>,
}

/// The right to compute one hash.
pub struct Permit<'h> {
    hasher: &'h Hasher,
    permit: OwnedSemaphorePermit,
}

impl Hasher {
    /// # Errors
    /// If the system has no random numbers.
    pub fn new(concurrency: usize) -> anyhow::Result<Self> {
        let memory = Arc::new(Memory::default());
        let decoy = hash(&memory, b"nobody has this password")?;
        Ok(Self { permits: Arc::new(Semaphore::new(concurrency.max(1))), memory, decoy: decoy.into() })
    }

    /// Waits for the right to compute one hash.
    ///
    /// # Errors
    /// If it takes more than 5 seconds.
    pub async fn permit(&self) -> Result<Permit<'_>, Error> {
        let acquired = tokio::time::timeout(MAX_WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = acquired.map_err(|_| Error::Busy)?.map_err(anyhow::Error::from)?;
        Ok(Permit { hasher: self, permit })
    }
}

impl Permit<'_> {
    /// Returns the hash to store.
    pub async fn hash(self, password: SecretString) -> Result<String, Error> {
        let (permit, memory) = (self.permit, Arc::clone(&self.hasher.memory));
        blocking(move || {
            let result = hash(&memory, prepared(password.expose_secret()).as_bytes());
            drop(permit);
            result
        })
        .await
    }

    /// Returns whether the password has this hash. Takes as long without a `stored` hash, and returns false.
    pub async fn verify(self, password: SecretString, stored: Option<String>) -> Result<bool, Error> {
        let (permit, memory, known) = (self.permit, Arc::clone(&self.hasher.memory), stored.is_some());
        let against = stored.unwrap_or_else(|| self.hasher.decoy.to_string());
        blocking(move || {
            let matches = verify(&memory, prepared(password.expose_secret()).as_bytes(), &against);
            drop(permit);
            Ok(matches? && known)
        })
        .await
    }
}

/// The working memory of hashes, reused. If it was freed each time, the allocator would keep 19 MiB for every
/// thread that ever computed a hash.
#[derive(Default)]
struct Memory(Mutex<Vec<Vec<Block>>>);

impl Memory {
    fn compute(&self, params: Params, password: &[u8], salt: &[u8], out: &mut [u8]) -> anyhow::Result<()> {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        blocks.resize(params.block_count(), Block::default());
        let done = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(password, salt, out, &mut blocks)
            .map_err(|e| anyhow::anyhow!("cannot hash a password: {e}"));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(blocks);
        done
    }
}

/// Returns a hash in the PHC string format, with the recommended parameters.
fn hash(memory: &Memory, password: &[u8]) -> anyhow::Result<String> {
    let (params, mut salt, mut out) = (Params::DEFAULT, [0; 16], [0; Params::DEFAULT_OUTPUT_LEN]);
    aws_lc_rs::rand::fill(&mut salt)?;
    let (m, t, p) = (params.m_cost(), params.t_cost(), params.p_cost());
    memory.compute(params, password, &salt, &mut out)?;
    let (salt, out) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(out));
    Ok(format!("$argon2id$v=19$m={m},t={t},p={p}${salt}${out}"))
}

/// Returns whether `stored` (PHC string format, argon2id, any parameters) is the hash of this password.
fn verify(memory: &Memory, password: &[u8], stored: &str) -> anyhow::Result<bool> {
    let broken =
        |what: &dyn std::fmt::Display| anyhow::anyhow!("a stored password hash is not valid: {what}");
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
) -> Result<T, Error> {
    Ok(tokio::task::spawn_blocking(f).await.map_err(anyhow::Error::from)??)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `argon2id`, of other parameters and another password.
    const WEAK: &str = "$argon2id$v=19$m=16,t=2,p=1$MTIzNDU2Nzg$Bn5hZ6ZCOhUwDcRDJ/1AsQ";

    #[test]
    fn length_and_similarity_are_checked() {
        let check = |password: &str| check("/password", &password.into(), "Ada@Example.test").is_ok();
        assert!(!check("7 chars"));
        assert!(check("8 chars!"));
        assert!(check(&"x".repeat(256)));
        assert!(!check(&"x".repeat(257)));
        assert!(check(&"ü".repeat(128)), "256 bytes");
        assert!(!check(&"ü".repeat(129)), "258 bytes");
        assert!(!check("ada@example.TEST"));
    }

    #[test]
    fn the_same_characters_are_the_same_password() {
        for (one, other, same) in [
            ("p\u{e4}ssword", "pa\u{308}ssword", true),
            ("correct horse", "correct\u{a0}horse", true),
            ("correct horse", "correct\u{3000}horse", true),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}", true),
            ("\u{212b}ngstrom", "\u{c5}ngstrom", true),
            ("Password", "password", false),
            ("\u{ff50}assword", "password", false), // RFC 8265: the width counts
            ("\u{fb01}sh", "fish", false),
            ("a b", "a  b", false),
            (" a", "a", false),
        ] {
            assert_eq!(prepared(one) == prepared(other), same, "{one} {other}");
        }
        for bad in ["new\nline and more", "nul\u{0} and more", "unassigned \u{378}"] {
            assert!(check("/password", &bad.into(), "").is_err(), "{bad:?}");
        }
        assert!(check("/password", &"emoji \u{1f469}\u{200d}\u{1f52c} ok".into(), "").is_ok());
    }

    #[test]
    fn a_hash_belongs_to_its_password_only() {
        let memory = Memory::default();
        let stored = hash(&memory, b"right").unwrap();
        assert!(verify(&memory, b"right", &stored).unwrap());
        assert!(!verify(&memory, b"wrong", &stored).unwrap());
        assert_ne!(stored, hash(&memory, b"right").unwrap(), "salted");
        assert!(!verify(&memory, b"right", WEAK).unwrap(), "other parameters");
    }

    #[test]
    fn hashes_have_the_standard_form() {
        use argon2::PasswordVerifier;
        let stored = hash(&Memory::default(), b"right").unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        let parsed = PasswordHash::new(&stored).unwrap();
        assert!(Argon2::default().verify_password(b"right", &parsed).is_ok());
    }

    #[test]
    fn other_algorithms_and_broken_hashes_are_errors() {
        let memory = Memory::default();
        for broken in [WEAK.replace("argon2id", "argon2i").as_str(), "", "$argon2id$v=19$m=16,t=2,p=1"] {
            assert!(verify(&memory, b"right", broken).is_err(), "{broken}");
        }
    }

    #[tokio::test]
    async fn an_unknown_account_never_matches() {
        let hasher = Hasher::new(1).unwrap();
        let verify = async |password: &str, stored| {
            hasher.permit().await.unwrap().verify(password.into(), stored).await.unwrap()
        };
        assert!(!verify("nobody has this password", None).await);
        let stored = hasher.permit().await.unwrap().hash("right".into()).await.unwrap();
        assert!(verify("right", Some(stored)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_for_a_permit_is_refused() {
        let hasher = Hasher::new(1).unwrap();
        let _permit = hasher.permit().await.unwrap();
        assert!(matches!(hasher.permit().await, Err(Error::Busy)));
    }
}
