//! SQL of secrets. The app role may not read the values; use the worker role.

use encryption::Encrypted;
use ids::{InstanceId, TenantId};
use sqlx::PgConnection;

use super::model::{Replacement, SecretRef};

/// Replaces an instance's secrets and returns them, by name.
pub(in super::super) async fn replace(
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
pub(super) async fn read(
    conn: &mut PgConnection,
    instance: InstanceId,
) -> sqlx::Result<Vec<(String, Encrypted)>> {
    let rows = sqlx::query!(
        "select name, key_id, ciphertext from instance_secrets where instance_id = $1",
        instance as InstanceId,
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.name, Encrypted { key_id: row.key_id, bytes: row.ciphertext })).collect())
}
