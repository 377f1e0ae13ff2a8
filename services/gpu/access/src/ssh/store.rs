//! SQL of SSH: the host key, the owners of keys, and the record of connections.

use ids::{InstanceId, SshKeyId, SshSessionId, TenantId, UserId};
use jiff_sqlx::Timestamp;
use sqlx::PgConnection;
use tenants::TenantState;

use super::right::{KeyOwner, Right};

/// Returns the host key in OpenSSH format. The app role may not read it; use the worker role.
pub(super) async fn host_key(conn: &mut PgConnection) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!("select private_key from ssh_host_key").fetch_optional(conn).await
}

/// Stores the host key, unless another replica was first.
pub(super) async fn insert_host_key(conn: &mut PgConnection, key: &str) -> sqlx::Result<()> {
    sqlx::query!("insert into ssh_host_key (private_key) values ($1) on conflict do nothing", key)
        .execute(conn)
        .await
        .map(drop)
}

/// Returns whether any user or instance has the key.
pub(super) async fn is_known(conn: &mut PgConnection, fingerprint: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        "select exists(select from ssh_keys where fingerprint = $1)
             or exists(select from instance_ssh_keys where fingerprint = $1) as \"known!\"",
        fingerprint,
    )
    .fetch_one(conn)
    .await
}

/// A key that may open an instance, if its user may.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) id: SshKeyId,
    pub(super) user_id: UserId,
    pub(super) owner: KeyOwner,
}

/// Returns the instance's keys with this fingerprint, then those of users: several may have added the same.
pub(super) async fn candidates(
    conn: &mut PgConnection,
    (tenant, instance): (TenantId, InstanceId),
    fingerprint: &str,
    limit: i64,
) -> sqlx::Result<Vec<Candidate>> {
    sqlx::query_as!(
        Candidate,
        r#"select id as "id!: SshKeyId", user_id as "user_id!: UserId", owner as "owner!: KeyOwner" from (
             select id, added_by as user_id, 'instance' as owner, 0 as rank, last_used_at from instance_ssh_keys
             where instance_id = $1 and fingerprint = $2
             union all
             select id, user_id, 'user', 1, last_used_at from ssh_keys
             where fingerprint = $2 and (opens_tenant is null or opens_tenant = $4)
         ) as keys order by rank, last_used_at desc nulls last, id limit $3"#,
        instance as InstanceId,
        fingerprint,
        limit,
        tenant as TenantId,
    )
    .fetch_all(conn)
    .await
}

/// Returns the owner of any tenant's instance, unless it is deleted, a service manages it, or its tenant is not active.
pub(super) async fn owner(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<Option<TenantId>> {
    sqlx::query_scalar!(
        "select i.tenant_id from instances i left join tenants t on t.id = i.tenant_id
         where i.id = $1 and i.state <> 'deleted' and i.managed_by is null and coalesce(t.state, 'active') = $2",
        instance as InstanceId,
        TenantState::Active as TenantState,
    )
    .fetch_optional(conn)
    .await
}

/// Records a connection that was let in, and that its key was used.
pub(super) async fn begin_session(
    conn: &mut PgConnection,
    id: SshSessionId,
    right: &Right,
    client_address: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into ssh_sessions (id, tenant_id, instance_id, user_id, key_id, key_owner, fingerprint,
             client_address)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        id as SshSessionId,
        right.tenant as TenantId,
        right.instance as InstanceId,
        right.user as UserId,
        right.key as SshKeyId,
        right.owner as KeyOwner,
        right.fingerprint,
        client_address,
    )
    .execute(&mut *conn)
    .await?;
    let used = match right.owner {
        KeyOwner::User => {
            sqlx::query!("update ssh_keys set last_used_at = now() where id = $1", right.key as SshKeyId)
        }
        KeyOwner::Instance => sqlx::query!(
            "update instance_ssh_keys set last_used_at = now() where id = $1",
            right.key as SshKeyId
        ),
    };
    used.execute(conn).await.map(drop)
}

/// How many of each kind a connection carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) shells: i32,
    pub(super) commands: i32,
    pub(super) sftp: i32,
    pub(super) forwards: i32,
}

/// Records the end of a connection.
pub(super) async fn end_session(
    conn: &mut PgConnection,
    id: SshSessionId,
    reason: &str,
    counts: Counts,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update ssh_sessions set ended_at = now(), confirmed_at = now(), end_reason = $2, shells = $3,
             commands = $4, sftp = $5, forwards = $6
         where id = $1 and ended_at is null",
        id as SshSessionId,
        reason,
        counts.shells,
        counts.commands,
        counts.sftp,
        counts.forwards,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An open connection, to check its right.
pub(super) struct OpenSession {
    pub(super) id: SshSessionId,
    pub(super) instance: InstanceId,
    pub(super) key: SshKeyId,
}

/// What a connection has lost: its key, the running instance or the active tenant.
#[derive(Debug)]
pub(super) struct LostRight {
    pub(super) id: SshSessionId,
    pub(super) has_key: bool,
    pub(super) is_active: bool,
}

/// Returns the connections that have lost their key, their running instance or their active tenant.
pub(super) async fn lost(conn: &mut PgConnection, open: &[OpenSession]) -> sqlx::Result<Vec<LostRight>> {
    let sessions: Vec<SshSessionId> = open.iter().map(|session| session.id).collect();
    let instances: Vec<InstanceId> = open.iter().map(|session| session.instance).collect();
    let keys: Vec<SshKeyId> = open.iter().map(|session| session.key).collect();
    sqlx::query_as!(
        LostRight,
        r#"select id as "id!: SshSessionId", has_key as "has_key!", is_active as "is_active!" from (
             select s.id, exists(select from ssh_keys k where k.id = s.key)
                     or exists(select from instance_ssh_keys k where k.id = s.key) as has_key,
                 coalesce(i.state = 'running', false) as is_running,
                 coalesce(t.state, 'active') = 'active' as is_active
             from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as s (id, instance, key)
             left join instances i on i.id = s.instance left join tenants t on t.id = i.tenant_id
         ) as all_sessions where not (has_key and is_running and is_active)"#,
        &sessions as &[SshSessionId],
        &instances as &[InstanceId],
        &keys as &[SshKeyId],
    )
    .fetch_all(conn)
    .await
}

/// Confirms that connections are open.
pub(super) async fn confirm_sessions(conn: &mut PgConnection, open: &[SshSessionId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update ssh_sessions set confirmed_at = now() where id = any($1) and ended_at is null",
        open as &[SshSessionId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Ends the record of connections that no replica has confirmed for five minutes; returns how many.
pub(super) async fn end_lost_sessions(conn: &mut PgConnection) -> sqlx::Result<u64> {
    let ended = sqlx::query!(
        "update ssh_sessions set ended_at = confirmed_at, end_reason = 'service_lost'
         where ended_at is null and confirmed_at < now() - interval '5 minutes'",
    )
    .execute(conn)
    .await?;
    Ok(ended.rows_affected())
}

/// Deletes up to `limit` records of connections that ended more than 90 days ago; returns how many.
pub async fn delete_old_sessions(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "delete from ssh_sessions where id in (
             select id from ssh_sessions where ended_at < now() - interval '90 days' limit $1)",
        limit,
    )
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected())
}

/// A recorded connection.
#[derive(Debug)]
pub(super) struct StoredSession {
    pub(super) id: SshSessionId,
    pub(super) tenant_id: TenantId,
    pub(super) instance_id: InstanceId,
    pub(super) user_id: UserId,
    pub(super) key_id: SshKeyId,
    pub(super) key_owner: KeyOwner,
    pub(super) fingerprint: String,
    pub(super) client_address: String,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) end_reason: Option<String>,
    pub(super) shells: i32,
    pub(super) commands: i32,
    pub(super) sftp: i32,
    pub(super) forwards: i32,
}

/// Which connections a list contains.
#[derive(Debug, Default)]
pub(super) struct SessionFilter {
    pub(super) tenant: Option<TenantId>,
    pub(super) instance: Option<InstanceId>,
}

/// Returns connections before `before`, newest first: those that the transaction may see.
pub(super) async fn sessions(
    conn: &mut PgConnection,
    filter: &SessionFilter,
    before: Option<SshSessionId>,
    limit: i64,
) -> sqlx::Result<Vec<StoredSession>> {
    sqlx::query_as!(
        StoredSession,
        "select id, tenant_id, instance_id, user_id, key_id, key_owner, fingerprint, client_address, started_at,
             ended_at, end_reason, shells, commands, sftp, forwards
         from ssh_sessions
         where ($1::uuid is null or tenant_id = $1) and ($2::uuid is null or instance_id = $2)
             and ($3::uuid is null or id < $3)
         order by id desc limit $4",
        filter.tenant as Option<TenantId>,
        filter.instance as Option<InstanceId>,
        before as Option<SshSessionId>,
        limit,
    )
    .fetch_all(conn)
    .await
}
