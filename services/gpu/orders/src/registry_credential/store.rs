//! SQL of registry credentials. The app role may not read the secrets; use the worker role.

use auth::{EndedMaker, Principal};
use encryption::Encrypted;
use ids::{ApiKeyId, RegistryCredentialId, TenantId, UserId};
use instances::instance;
use jiff_sqlx::Timestamp;
use sqlx::PgConnection;

use super::model::StoredCredential;

/// A credential without its secret.
pub(super) struct Credential {
    pub(super) id: RegistryCredentialId,
    pub(super) name: String,
    pub(super) registry: String,
    pub(super) username: String,
    pub(super) created_by: UserId,
    pub(super) created_by_key: Option<ApiKeyId>,
    pub(super) created_at: Timestamp,
}

/// Serializes requests that add credentials to the tenant, so that their number can be checked.
pub(super) async fn lock_credentials_of(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('registry credentials ' || $1, 0))",
        tenant.to_string()
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Counts the tenant's credentials.
pub(super) async fn count(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from registry_credentials where tenant_id = $1"#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// What is inserted.
pub(super) struct New<'a> {
    pub(super) id: RegistryCredentialId,
    pub(super) name: &'a str,
    pub(super) registry: &'a str,
    pub(super) username: &'a str,
    pub(super) secret: Encrypted,
}

/// Inserts a credential and wakes the instances that pull from its registry. None if the tenant already has
/// one of this name.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: New<'_>,
    by: &Principal,
) -> sqlx::Result<Option<Credential>> {
    let inserted = sqlx::query_as!(
        Credential,
        "insert into registry_credentials
             (id, tenant_id, name, registry, username, key_id, ciphertext, created_by, created_by_key, rights_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (tenant_id, name) do nothing
         returning id, name, registry, username, created_by, created_by_key, created_at",
        new.id as RegistryCredentialId,
        tenant as TenantId,
        new.name,
        new.registry,
        new.username,
        new.secret.key_id,
        new.secret.bytes,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        Timestamp::from(by.issued_at) as _,
    );
    let inserted = inserted.fetch_optional(&mut *conn).await?;
    instance::store::wake_pulling_from(conn, tenant, new.registry).await?;
    Ok(inserted)
}

/// Returns the tenant's credentials before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Option<RegistryCredentialId>,
    limit: i64,
) -> sqlx::Result<Vec<Credential>> {
    sqlx::query_as!(
        Credential,
        "select id, name, registry, username, created_by, created_by_key, created_at from registry_credentials
         where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        tenant as TenantId,
        before as Option<RegistryCredentialId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns the registry of a credential of the tenant.
pub(super) async fn registry(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RegistryCredentialId,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "select registry from registry_credentials where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as RegistryCredentialId,
    )
    .fetch_optional(conn)
    .await
}

/// Deletes a credential of the tenant and wakes the instances that pull from its registry. Returns false if there is none.
pub(super) async fn delete(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RegistryCredentialId,
) -> sqlx::Result<bool> {
    let registry = sqlx::query_scalar!(
        "delete from registry_credentials where tenant_id = $1 and id = $2 returning registry",
        tenant as TenantId,
        id as RegistryCredentialId,
    );
    let Some(registry) = registry.fetch_optional(&mut *conn).await? else { return Ok(false) };
    instance::store::wake_pulling_from(conn, tenant, &registry).await?;
    Ok(true)
}

/// Deletes the credentials of a maker and wakes the instances that pull from their registries. Returns the
/// deleted ones.
pub async fn end_credentials(
    conn: &mut PgConnection,
    tenant: TenantId,
    EndedMaker { maker, before }: &EndedMaker,
) -> sqlx::Result<Vec<RegistryCredentialId>> {
    let rows = sqlx::query!(
        r#"delete from registry_credentials
           where tenant_id = $1 and created_by = $2 and created_by_key is not distinct from $3
             and ($4::timestamptz is null or rights_at < $4)
           returning id as "id: RegistryCredentialId", registry"#,
        tenant as TenantId,
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(Timestamp::from) as Option<Timestamp>,
    );
    let rows = rows.fetch_all(&mut *conn).await?;
    for row in &rows {
        instance::store::wake_pulling_from(conn, tenant, &row.registry).await?;
    }
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Returns a credential of the tenant with its encrypted secret.
pub async fn stored(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: RegistryCredentialId,
) -> sqlx::Result<Option<StoredCredential>> {
    let row = sqlx::query!(
        "select username, key_id, ciphertext from registry_credentials where tenant_id = $1 and id = $2",
        tenant as TenantId,
        id as RegistryCredentialId,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| StoredCredential {
        id,
        tenant,
        username: row.username,
        secret: Encrypted { key_id: row.key_id, bytes: row.ciphertext },
    }))
}

/// Returns up to `limit` credentials that are encrypted under another key, locked until the transaction ends.
pub(super) async fn lock_stale(
    conn: &mut PgConnection,
    current_key: &str,
    limit: i64,
) -> sqlx::Result<Vec<StoredCredential>> {
    let rows = sqlx::query!(
        r#"select id as "id: RegistryCredentialId", tenant_id as "tenant: TenantId", username, key_id, ciphertext
           from registry_credentials where key_id <> $1 order by id limit $2 for update"#,
        current_key,
        limit,
    );
    let stored = rows.fetch_all(conn).await?.into_iter().map(|row| StoredCredential {
        id: row.id,
        tenant: row.tenant,
        username: row.username,
        secret: Encrypted { key_id: row.key_id, bytes: row.ciphertext },
    });
    Ok(stored.collect())
}

/// Replaces an encrypted secret by the same one under another key.
pub(super) async fn renew(
    conn: &mut PgConnection,
    id: RegistryCredentialId,
    secret: &Encrypted,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update registry_credentials set key_id = $2, ciphertext = $3 where id = $1",
        id as RegistryCredentialId,
        secret.key_id,
        secret.bytes,
    )
    .execute(conn)
    .await
    .map(drop)
}
