//! Secrets that are encrypted under an earlier key. For the operators' program.

use encryption::Cipher;
use sqlx::PgConnection;

use super::{model::context, store};

/// Encrypts up to `limit` secrets under the first key that are not. Returns how many.
pub async fn reencrypt(conn: &mut PgConnection, cipher: &Cipher, limit: i64) -> anyhow::Result<u64> {
    let stale = store::lock_stale(conn, cipher.current_key(), limit).await?;
    let count = stale.len() as u64;
    for credential in stale {
        let renewed = cipher.renew(&credential.secret, &context(credential.tenant, credential.id))?;
        store::renew(conn, credential.id, &renewed).await?;
    }
    Ok(count)
}
