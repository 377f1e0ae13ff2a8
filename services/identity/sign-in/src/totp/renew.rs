//! Functions of the operators' program for second factors: secrets under an earlier key, and lost factors.

use encryption::Cipher;
use ids::UserId;
use sqlx::PgConnection;

use super::{check::context, store};

/// Encrypts up to `limit` secrets under the first key that are not. Returns how many.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(conn: &mut PgConnection, cipher: &Cipher, limit: i64) -> anyhow::Result<u64> {
    let stale = store::lock_stale(conn, cipher.current_key(), limit).await?;
    for (user, secret) in &stale {
        store::renew(conn, *user, &cipher.renew(secret, &context(*user))?).await?;
    }
    Ok(stale.len() as u64)
}

/// Removes the second factor of a user, if there is one.
pub async fn forget(conn: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    store::delete(conn, user).await.map(drop)
}
