//! `rotate-keys` (docs/KEYS.md): encrypts everything under the first key, so that the other keys can be removed from
//! the configuration; requests the next key that signs access tokens. Services keep running.

use anyhow::Context;
use atelier_identity::SigningKeyStart;
use encryption::Cipher;
use ids::SigningKeyId;
use jiff::Timestamp;
use sqlx::PgConnection;

use crate::Config;

/// Rows that are written in one transaction.
const PAGE: i64 = 200;

/// The keys of the identity service that sign access tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKeys {
    /// Those that are published, in the order in which they sign.
    pub published: Vec<SigningKeyStart>,
    /// The one that was requested now; none while the next one is requested or published already.
    pub requested: Option<SigningKeyId>,
}

/// Returns the keys that sign access tokens.
///
/// # Errors
/// If the database fails.
pub async fn signing_keys(config: &Config) -> anyhow::Result<Vec<SigningKeyStart>> {
    let mut conn = schema(config, atelier_identity::NAME).await?;
    Ok(atelier_identity::signing_keys(&mut conn).await?)
}

/// Requests the next key that signs access tokens, for the audit log on behalf of `by`. A running identity service generates it
/// within seconds, publishes it, and signs with it when all services know it; tokens of the former key are valid until they
/// expire.
///
/// # Errors
/// If the database fails.
pub async fn rotate_signing_keys(config: &Config, by: &str, now: Timestamp) -> anyhow::Result<SigningKeys> {
    let mut conn = schema(config, atelier_identity::NAME).await?;
    let requested = atelier_identity::request_signing_key(&mut conn, by, now).await?;
    Ok(SigningKeys { published: atelier_identity::signing_keys(&mut conn).await?, requested })
}

/// Number of re-encrypted rows of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// The service.
    pub service: &'static str,
    /// Rows.
    pub rows: u64,
}

/// Re-encrypts all rows of the configured services that are not encrypted under the first key. Restartable: rows that
/// are done are not read again.
///
/// # Errors
/// If no keys are configured, or a row cannot be decrypted with any of them.
pub async fn rotate(config: &Config) -> anyhow::Result<Vec<Rotated>> {
    anyhow::ensure!(!config.encryption_keys.is_empty(), "encryption_keys is not configured");
    let mut done = Vec::new();
    for (service, keys) in &config.encryption_keys {
        let mut conn = schema(config, service).await?;
        let (service, rows) = match service.as_str() {
            atelier_gpu::NAME => {
                let cipher = Cipher::new(atelier_gpu::NAME, keys)?;
                (atelier_gpu::NAME, all(&mut conn, &cipher, atelier_gpu::reencrypt).await)
            }
            atelier_identity::NAME => {
                let cipher = Cipher::new(atelier_identity::NAME, keys)?;
                (atelier_identity::NAME, all(&mut conn, &cipher, atelier_identity::reencrypt).await)
            }
            atelier_jobs::NAME => {
                let cipher = Cipher::new(atelier_jobs::NAME, keys)?;
                (atelier_jobs::NAME, all(&mut conn, &cipher, atelier_jobs::reencrypt).await)
            }
            other => anyhow::bail!("this program re-encrypts nothing of {other:?}"),
        };
        done.push(Rotated { service, rows: rows.with_context(|| format!("rows of {service}"))? });
    }
    Ok(done)
}

/// A superuser's connection to the schema of a service.
async fn schema(config: &Config, service: &str) -> anyhow::Result<PgConnection> {
    let mut conn = config.database.connect(&config.database.superuser()?).await?;
    sqlx::query("select set_config('search_path', $1, false)").bind(service).execute(&mut conn).await?;
    Ok(conn)
}

async fn all(
    conn: &mut PgConnection,
    cipher: &Cipher,
    page: impl AsyncFn(&mut PgConnection, &Cipher, i64) -> anyhow::Result<u64>,
) -> anyhow::Result<u64> {
    let mut rows = 0;
    loop {
        let written = page(&mut *conn, cipher, PAGE).await?;
        if written == 0 {
            return Ok(rows);
        }
        rows += written;
    }
}
