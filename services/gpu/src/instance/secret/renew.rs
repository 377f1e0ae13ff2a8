//! Secrets that are encrypted under an earlier key. For the operators' program.

use encryption::Cipher;
use sqlx::{Connection, PgConnection};

use super::{model::context, store};

/// Encrypts up to `limit` secrets under the first key that are not, in one transaction. Returns how many. For an administrator
/// of the database, whose search path is this service's schema.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(conn: &mut PgConnection, cipher: &Cipher, limit: i64) -> anyhow::Result<u64> {
    let mut tx = conn.begin().await?;
    let stale = store::lock_stale(&mut tx, cipher.current_key(), limit).await?;
    let count = stale.len() as u64;
    for secret in stale {
        let context = context(secret.tenant, secret.instance, &secret.name);
        let renewed = cipher.renew(&secret.value, &context)?;
        store::renew(&mut tx, secret.instance, &secret.name, &renewed).await?;
    }
    tx.commit().await?;
    Ok(count)
}
