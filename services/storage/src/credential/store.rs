//! The table of credentials.

use auth::{EndedMaker, MadeBy, Maker, Principal, Whom};
use ids::{ApiKeyId, StorageId, TenantId, UserId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::model::Credential;

/// Records that a key is about to be created.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    access: &str,
    by: &Principal,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into credentials (access_key_id, storage_id, tenant_id, state, created_by, created_by_key, rights_at)
         values ($1, $2, $3, 'making', $4, $5, $6)",
        access,
        storage as StorageId,
        tenant as TenantId,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(by.issued_at) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Marks a key as active, now that the object store has it. False if it has been marked for removal
/// meanwhile.
pub(super) async fn activate(conn: &mut PgConnection, tenant: TenantId, access: &str) -> sqlx::Result<bool> {
    sqlx::query!(
        "update credentials set state = 'active'
         where tenant_id = $1 and access_key_id = $2 and state = 'making'",
        tenant as TenantId,
        access,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Marks a key for removal. False if the storage has no such key.
pub(super) async fn mark_removing(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    access: &str,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update credentials set state = 'removing'
         where tenant_id = $1 and storage_id = $2 and access_key_id = $3",
        tenant as TenantId,
        storage as StorageId,
        access,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Makes the caller the maker of a key of the storage, unless it is being removed. Returns none if there is no such key.
pub(super) async fn take_over(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    access: &str,
    by: &Principal,
) -> sqlx::Result<Option<Credential>> {
    sqlx::query_as!(
        Credential,
        "update credentials set created_by = $4, created_by_key = $5, rights_at = $6
         where tenant_id = $1 and storage_id = $2 and access_key_id = $3 and state <> 'removing'
         returning access_key_id, state, created_by, created_by_key, created_at",
        tenant as TenantId,
        storage as StorageId,
        access,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(by.issued_at) as _,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the makers of keys.
pub(super) async fn makers(conn: &mut PgConnection, whom: &Whom) -> sqlx::Result<Vec<MadeBy>> {
    let rows = sqlx::query!(
        r#"select tenant_id, created_by as "user_id!", created_by_key as "api_key_id",
                  min(rights_at) as "rights_at!"
           from credentials
           where state <> 'removing' and created_by is not null
             and ($1 or created_by = any($2) or created_by_key = any($3))
           group by tenant_id, created_by, created_by_key"#,
        whom.all,
        &whom.users as &[UserId],
        &whom.api_keys as &[ApiKeyId],
    )
    .fetch_all(conn)
    .await?;
    let made = rows.into_iter().map(|row| MadeBy {
        maker: Maker { user_id: row.user_id, tenant_id: Some(row.tenant_id), api_key_id: row.api_key_id },
        rights_at: row.rights_at.to_jiff(),
    });
    Ok(made.collect())
}

/// Marks the keys of a maker whose rights have ended for removal. Returns the marked keys, with their
/// storages.
pub(super) async fn end(
    conn: &mut PgConnection,
    ended: &EndedMaker,
) -> sqlx::Result<Vec<(StorageId, String)>> {
    let EndedMaker { maker, before } = ended;
    let rows = sqlx::query!(
        "update credentials set state = 'removing'
         where tenant_id = $1 and created_by = $2 and created_by_key is not distinct from $3 and state <> 'removing'
           and ($4::timestamptz is null or rights_at < $4)
         returning storage_id, access_key_id",
        maker.tenant_id as Option<TenantId>,
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.storage_id, row.access_key_id)).collect())
}

/// Makes the idempotency key of a request usable again, since the request has failed after its transaction.
pub(super) async fn free_idempotency_key(
    conn: &mut PgConnection,
    scope: &str,
    key: &str,
) -> sqlx::Result<()> {
    sqlx::query!("delete from idempotency_keys where scope = $1 and key = $2", scope, key)
        .execute(conn)
        .await
        .map(drop)
}

/// The position of a credential in a list: its time of creation and its access key id.
pub(super) type Position = (Timestamp, String);

/// Returns the credentials of the storage after `after`, oldest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    after: Option<&Position>,
    limit: i64,
) -> sqlx::Result<Vec<Credential>> {
    sqlx::query_as!(
        Credential,
        "select access_key_id, state, created_by, created_by_key, created_at from credentials
         where tenant_id = $1 and storage_id = $2
           and ($3::timestamptz is null or (created_at, access_key_id) > ($3, $4))
         order by created_at, access_key_id limit $5",
        tenant as TenantId,
        storage as StorageId,
        after.map(|(created_at, _)| jiff_sqlx::Timestamp::from(*created_at)) as Option<jiff_sqlx::Timestamp>,
        after.map(|(_, access)| access.as_str()),
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns how many keys the storage has.
pub(super) async fn count(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from credentials where storage_id = $1"#,
        storage as StorageId
    )
    .fetch_one(conn)
    .await
}

/// Returns the keys of a storage that are to be removed: those that were marked, and those whose creation was
/// interrupted.
pub(crate) async fn removable(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "select access_key_id from credentials
         where storage_id = $1
           and (state = 'removing' or state = 'making' and created_at < now() - interval '2 minutes')",
        storage as StorageId,
    )
    .fetch_all(conn)
    .await
}

/// Returns all keys of a storage.
pub(crate) async fn of_storage(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select access_key_id from credentials where storage_id = $1", storage as StorageId)
        .fetch_all(conn)
        .await
}

/// Returns all keys of a tenant.
pub(crate) async fn of_tenant(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select access_key_id from credentials where tenant_id = $1", tenant as TenantId)
        .fetch_all(conn)
        .await
}

/// Deletes the record of a key that the object store no longer has.
pub(crate) async fn delete(conn: &mut PgConnection, access: &str) -> sqlx::Result<()> {
    sqlx::query!("delete from credentials where access_key_id = $1", access).execute(conn).await.map(drop)
}
