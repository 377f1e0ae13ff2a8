//! SQL of secrets. The app role may not read the values; use the worker role.

use encryption::Encrypted;
use gpu_core::instance::SecretRef;
use ids::{InstanceId, TenantId};
use sqlx::PgConnection;

use super::Replacement;

/// Replaces an instance's secrets and returns them, by name.
pub async fn replace(
    conn: &mut PgConnection,
    (tenant, instance): (TenantId, InstanceId),
    replacement: Replacement,
) -> sqlx::Result<Vec<SecretRef>> {
    let Replacement { kept, written } = replacement;
    sqlx::query!(
        "delete from instance_secrets where instance_id = $1 and name <> all($2)",
        instance as InstanceId,
        &kept
    )
    .execute(&mut *conn)
    .await?;
    let (mut names, mut keys, mut ciphertexts) = (Vec::new(), Vec::new(), Vec::new());
    for (name, Encrypted { key_id, bytes }) in written {
        names.push(name);
        keys.push(key_id);
        ciphertexts.push(bytes);
    }
    sqlx::query!(
        "insert into instance_secrets (instance_id, tenant_id, name, key_id, ciphertext)
         select $1, $2, * from unnest($3::text[], $4::text[], $5::bytea[])",
        instance as InstanceId,
        tenant as TenantId,
        &names,
        &keys,
        &ciphertexts,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_as!(
        SecretRef,
        "select name, updated_at from instance_secrets where instance_id = $1 order by name",
        instance as InstanceId,
    )
    .fetch_all(conn)
    .await
}

/// Returns an instance's secrets with their encrypted values.
pub async fn read(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<Vec<(String, Encrypted)>> {
    let rows = sqlx::query!(
        "select name, key_id, ciphertext from instance_secrets where instance_id = $1",
        instance as InstanceId,
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.name, Encrypted { key_id: row.key_id, bytes: row.ciphertext })).collect())
}

/// An encrypted value, and what it belongs to.
pub struct StoredSecret {
    pub instance: InstanceId,
    pub tenant: TenantId,
    pub name: String,
    pub value: Encrypted,
}

/// Returns up to `limit` secrets that are encrypted under another key, locked until the transaction ends.
pub async fn lock_stale(
    conn: &mut PgConnection,
    current_key: &str,
    limit: i64,
) -> sqlx::Result<Vec<StoredSecret>> {
    let rows = sqlx::query!(
        "select instance_id, name, tenant_id, key_id, ciphertext from instance_secrets where key_id <> $1
         order by instance_id, name limit $2 for update",
        current_key,
        limit,
    );
    let stored = rows.fetch_all(conn).await?.into_iter().map(|row| StoredSecret {
        instance: row.instance_id,
        tenant: row.tenant_id,
        name: row.name,
        value: Encrypted { key_id: row.key_id, bytes: row.ciphertext },
    });
    Ok(stored.collect())
}

/// Replaces an encrypted value by the same one under another key.
pub async fn renew(
    conn: &mut PgConnection,
    instance: InstanceId,
    name: &str,
    value: &Encrypted,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update instance_secrets set key_id = $3, ciphertext = $4 where instance_id = $1 and name = $2",
        instance as InstanceId,
        name,
        value.key_id,
        value.bytes,
    )
    .execute(conn)
    .await
    .map(drop)
}
