//! Secrets that are encrypted under an earlier key. For the operators' program.

use encryption::Cipher;
use sqlx::PgConnection;

use super::{context, store};

/// Encrypts up to `limit` secrets under the first key that are not. Returns how many.
pub async fn reencrypt(conn: &mut PgConnection, cipher: &Cipher, limit: i64) -> anyhow::Result<u64> {
    let stale = store::lock_stale(conn, cipher.current_key(), limit).await?;
    let count = stale.len() as u64;
    for secret in stale {
        let context = context(secret.tenant, secret.instance, &secret.name);
        let renewed = cipher.renew(&secret.value, &context)?;
        store::renew(conn, secret.instance, &secret.name, &renewed).await?;
    }
    Ok(count)
}
