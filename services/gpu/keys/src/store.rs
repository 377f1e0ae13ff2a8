//! SQL of public keys.

use auth::Principal;
use ids::{ApiKeyId, InstanceId, SshKeyId, TenantId, UserId};
use jiff_sqlx::Timestamp;
use sqlx::PgConnection;

use super::key::Key;

/// Notified when a key was deleted.
pub const CHANNEL: &str = "atelier_gpu_ssh";

/// A stored public key.
#[derive(Debug)]
pub(super) struct StoredKey {
    pub(super) id: SshKeyId,
    pub(super) name: String,
    pub(super) public_key: String,
    pub(super) fingerprint: String,
    pub(super) created_by: UserId,
    pub(super) created_by_key: Option<ApiKeyId>,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Option<Timestamp>,
}

/// Lets one request at a time add keys to a user or an instance, so that their number can be checked.
pub(super) async fn lock_keys(conn: &mut PgConnection, owner: &str) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('ssh keys ' || $1, 0))", owner)
        .execute(conn)
        .await
        .map(drop)
}

/// Returns a user's keys before `before`, newest first.
pub(super) async fn user_keys(
    conn: &mut PgConnection,
    user: UserId,
    before: Option<SshKeyId>,
    limit: i64,
) -> sqlx::Result<Vec<StoredKey>> {
    sqlx::query_as!(
        StoredKey,
        "select id, name, public_key, fingerprint, user_id as created_by, created_by_key, created_at, last_used_at
         from ssh_keys
         where user_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        user as UserId,
        before as Option<SshKeyId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Counts a user's keys.
pub(super) async fn count_user_keys(conn: &mut PgConnection, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar!("select count(*) as \"count!\" from ssh_keys where user_id = $1", user as UserId)
        .fetch_one(conn)
        .await
}

/// Adds a key to a user. None if the user already has it.
pub(super) async fn insert_user_key(
    conn: &mut PgConnection,
    by: &Principal,
    name: &str,
    key: &Key,
) -> sqlx::Result<Option<StoredKey>> {
    // an API key acts for one tenant
    let opens = by.tenant.filter(|_| by.api_key.is_some()).map(|(tenant, _)| tenant);
    sqlx::query_as!(
        StoredKey,
        "insert into ssh_keys (id, user_id, name, public_key, fingerprint, created_by_key, rights_at, opens_tenant)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (user_id, fingerprint) do nothing
         returning id, name, public_key, fingerprint, user_id as created_by, created_by_key, created_at, last_used_at",
        SshKeyId::new() as SshKeyId,
        by.user as UserId,
        name,
        key.public_key,
        key.fingerprint,
        by.api_key as Option<ApiKeyId>,
        Timestamp::from(by.issued_at) as _,
        opens as Option<TenantId>,
    )
    .fetch_optional(conn)
    .await
}

/// Deletes a user's key and notifies the replicas. Returns false if there is none.
pub(super) async fn delete_user_key(
    conn: &mut PgConnection,
    user: UserId,
    id: SshKeyId,
) -> sqlx::Result<bool> {
    let deleted =
        sqlx::query!("delete from ssh_keys where id = $1 and user_id = $2", id as SshKeyId, user as UserId,)
            .execute(&mut *conn)
            .await?;
    notify(conn).await?;
    Ok(deleted.rows_affected() == 1)
}

/// Returns an instance's keys before `before`, newest first.
pub(super) async fn instance_keys(
    conn: &mut PgConnection,
    instance: InstanceId,
    before: Option<SshKeyId>,
    limit: i64,
) -> sqlx::Result<Vec<StoredKey>> {
    sqlx::query_as!(
        StoredKey,
        "select id, name, public_key, fingerprint, added_by as created_by, created_by_key, created_at, last_used_at
         from instance_ssh_keys
         where instance_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        instance as InstanceId,
        before as Option<SshKeyId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Counts an instance's keys.
pub(super) async fn count_instance_keys(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        "select count(*) as \"count!\" from instance_ssh_keys where instance_id = $1",
        instance as InstanceId,
    )
    .fetch_one(conn)
    .await
}

/// Adds a key to an instance. None if the instance already has it.
pub(super) async fn insert_instance_key(
    conn: &mut PgConnection,
    (tenant, instance): (TenantId, InstanceId),
    by: &Principal,
    name: &str,
    key: &Key,
) -> sqlx::Result<Option<StoredKey>> {
    sqlx::query_as!(
        StoredKey,
        "insert into instance_ssh_keys (id, tenant_id, instance_id, added_by, name, public_key, fingerprint,
             created_by_key, rights_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (instance_id, fingerprint) do nothing
         returning id, name, public_key, fingerprint, added_by as created_by, created_by_key, created_at, last_used_at",
        SshKeyId::new() as SshKeyId,
        tenant as TenantId,
        instance as InstanceId,
        by.user as UserId,
        name,
        key.public_key,
        key.fingerprint,
        by.api_key as Option<ApiKeyId>,
        Timestamp::from(by.issued_at) as _,
    )
    .fetch_optional(conn)
    .await
}

/// Deletes an instance's key and notifies the replicas. Returns false if there is none.
pub(super) async fn delete_instance_key(
    conn: &mut PgConnection,
    instance: InstanceId,
    id: SshKeyId,
) -> sqlx::Result<bool> {
    let deleted = sqlx::query!(
        "delete from instance_ssh_keys where id = $1 and instance_id = $2",
        id as SshKeyId,
        instance as InstanceId,
    )
    .execute(&mut *conn)
    .await?;
    notify(conn).await?;
    Ok(deleted.rows_affected() == 1)
}

/// Notifies the replicas that keys were deleted.
pub async fn notify(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", CHANNEL).execute(conn).await.map(drop)
}
