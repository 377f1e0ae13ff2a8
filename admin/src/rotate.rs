//! `rotate-keys`: what is encrypted under other keys is encrypted under the first one, so that the others can be removed from the
//! configuration. Services run meanwhile.

use anyhow::Context;
use encryption::Cipher;
use sqlx::PgConnection;

use crate::Config;

/// Rows that are written in one transaction.
const PAGE: i64 = 200;

/// How many rows of a service were encrypted anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// The service.
    pub service: &'static str,
    /// Rows.
    pub rows: u64,
}

/// Encrypts all rows of the configured services anew that are not encrypted under the first key. Restartable: rows that are done
/// are not read again.
///
/// # Errors
/// If no keys are configured, or a row cannot be decrypted with any of them.
pub async fn rotate(config: &Config) -> anyhow::Result<Vec<Rotated>> {
    anyhow::ensure!(!config.encryption_keys.is_empty(), "encryption_keys is not configured");
    let login = config.database.superuser()?;
    let mut done = Vec::new();
    for (service, keys) in &config.encryption_keys {
        let mut conn = config.database.connect(&login).await?;
        sqlx::query("select set_config('search_path', $1, false)").bind(service).execute(&mut conn).await?;
        let (service, rows) = match service.as_str() {
            atelier_gpu::NAME => {
                let cipher = Cipher::new(atelier_gpu::NAME, keys)?;
                (atelier_gpu::NAME, all(&mut conn, &cipher, atelier_gpu::reencrypt).await)
            }
            atelier_identity::NAME => {
                let cipher = Cipher::new(atelier_identity::NAME, keys)?;
                (atelier_identity::NAME, all(&mut conn, &cipher, atelier_identity::reencrypt).await)
            }
            other => anyhow::bail!("the service {other:?} encrypts nothing"),
        };
        done.push(Rotated { service, rows: rows.with_context(|| format!("rows of {service}"))? });
    }
    Ok(done)
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
