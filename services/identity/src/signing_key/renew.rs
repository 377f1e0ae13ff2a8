//! Private keys that are encrypted under an earlier key. For the operators' program.

use encryption::Cipher;
use sqlx::PgConnection;

use super::store;

/// Encrypts up to `limit` private keys under the first key that are not. Returns how many.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub(crate) async fn reencrypt(conn: &mut PgConnection, cipher: &Cipher, limit: i64) -> anyhow::Result<u64> {
    let stale = store::lock_stale(conn, cipher.current_key(), limit).await?;
    for (id, private_key) in &stale {
        store::renew(conn, *id, &cipher.renew(private_key, &id.to_string())?).await?;
    }
    Ok(stale.len() as u64)
}
