//! The tables of credentials and of refused messages.

use std::collections::HashMap;

use auth::{EndedMaker, Principal};
use ids::{ApiKeyId, DeadMessageId, MqCredentialId, TenantId, UserId};
use jiff::Timestamp;
use jobs_core::refusal::{Code, Refusal};
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use super::message::{Message, Properties};

/// Bytes of the body of a refused message that are kept.
const KEPT_BYTES: usize = 64 << 10;
/// Days for which refused messages are kept.
const KEPT_DAYS: i32 = 30;
/// Refused messages of a tenant that are kept, and those deleted at a time beyond them.
const KEPT_DEAD: i64 = 1_000;
const TRIMMED: i64 = 1_000;

/// A credential, as it is stored.
pub(super) struct MqCredential {
    pub(super) id: MqCredentialId,
    pub(super) name: String,
    pub(super) tenant_id: TenantId,
    pub(super) created_by: Option<UserId>,
    pub(super) created_by_key: Option<ApiKeyId>,
    pub(super) created_at: Timestamp,
}

/// A credential, for intake.
pub(super) struct Known {
    pub(super) tenant: TenantId,
    pub(super) is_deleted: bool,
}

/// Returns credentials by id, deleted ones included.
pub(super) async fn credentials(
    conn: &mut PgConnection,
    ids: &[MqCredentialId],
) -> sqlx::Result<HashMap<MqCredentialId, Known>> {
    let rows = sqlx::query!(
        r#"select id, tenant_id, deleted_at is not null as "is_deleted!" from mq_credentials where id = any($1)"#,
        ids as &[MqCredentialId],
    )
    .fetch_all(conn)
    .await?;
    let known = |tenant, is_deleted| Known { tenant, is_deleted };
    Ok(rows.into_iter().map(|row| (row.id, known(row.tenant_id, row.is_deleted))).collect())
}

/// Returns tenant and hashed secret of a credential that was not deleted.
pub(super) async fn secret(
    conn: &mut PgConnection,
    id: MqCredentialId,
) -> sqlx::Result<Option<(TenantId, Vec<u8>)>> {
    let row = sqlx::query!(
        "select tenant_id, secret_hash from mq_credentials where id = $1 and deleted_at is null",
        id as MqCredentialId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.tenant_id, row.secret_hash)))
}

/// Returns tenants that have credentials.
pub(super) async fn tenants(conn: &mut PgConnection) -> sqlx::Result<Vec<TenantId>> {
    sqlx::query_scalar!("select distinct tenant_id from mq_credentials where deleted_at is null")
        .fetch_all(conn)
        .await
}

/// Returns credentials that may be used.
pub(super) async fn usable(conn: &mut PgConnection) -> sqlx::Result<Vec<MqCredentialId>> {
    sqlx::query_scalar!(
        "select c.id from mq_credentials c
         where c.deleted_at is null and not exists (select from tenants t where t.id = c.tenant_id and t.state <> 'active')"
    )
    .fetch_all(conn)
    .await
}

/// Waits until no other transaction declares queues or exchanges.
pub(super) async fn lock_topology(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('mq topology', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// Serializes transactions that add credentials of the tenant. Held until the transaction ends.
pub(super) async fn lock_credentials_of(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('mq credentials ' || $1, 0))",
        tenant.to_string()
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Counts the tenant's credentials.
pub(super) async fn count(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from mq_credentials where tenant_id = $1 and deleted_at is null"#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// Inserts a credential.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: MqCredentialId,
    name: &str,
    secret_hash: &[u8],
    by: &Principal,
) -> sqlx::Result<MqCredential> {
    sqlx::query_as!(
        MqCredential,
        "insert into mq_credentials (id, tenant_id, name, secret_hash, created_by, created_by_key, rights_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         returning id, name, tenant_id, created_by, created_by_key, created_at",
        id as MqCredentialId,
        tenant as TenantId,
        name,
        secret_hash,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(by.issued_at) as _,
    )
    .fetch_one(conn)
    .await
}

/// Returns credentials of the tenant after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    after: Option<MqCredentialId>,
    limit: i64,
) -> sqlx::Result<Vec<MqCredential>> {
    sqlx::query_as!(
        MqCredential,
        "select id, name, tenant_id, created_by, created_by_key, created_at from mq_credentials
         where tenant_id = $1 and deleted_at is null and ($2::uuid is null or id > $2) order by id limit $3",
        tenant as TenantId,
        after as Option<MqCredentialId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Deletes a credential of the tenant. Returns whether it existed.
pub(super) async fn delete(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: MqCredentialId,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update mq_credentials set deleted_at = now() where tenant_id = $1 and id = $2 and deleted_at is null",
        tenant as TenantId,
        id as MqCredentialId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Makes the caller the maker of a credential of the tenant. Returns none if there is no such credential.
pub(super) async fn take_over(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: MqCredentialId,
    by: &Principal,
) -> sqlx::Result<Option<MqCredential>> {
    sqlx::query_as!(
        MqCredential,
        "update mq_credentials set created_by = $3, created_by_key = $4, rights_at = $5
         where tenant_id = $1 and id = $2 and deleted_at is null
         returning id, name, tenant_id, created_by, created_by_key, created_at",
        tenant as TenantId,
        id as MqCredentialId,
        by.user as UserId,
        by.api_key as Option<ApiKeyId>,
        jiff_sqlx::Timestamp::from(by.issued_at) as _,
    )
    .fetch_optional(conn)
    .await
}

/// Deletes the credentials of a maker whose rights have ended. Returns the deleted ones.
pub async fn end_credentials(
    conn: &mut PgConnection,
    ended: &EndedMaker,
) -> sqlx::Result<Vec<MqCredentialId>> {
    let EndedMaker { maker, before } = ended;
    sqlx::query_scalar!(
        "update mq_credentials set deleted_at = now()
         where tenant_id = $1 and created_by = $2 and created_by_key is not distinct from $3 and deleted_at is null
           and ($4::timestamptz is null or rights_at < $4)
         returning id",
        maker.tenant_id as Option<TenantId>,
        maker.user_id as UserId,
        maker.api_key_id as Option<ApiKeyId>,
        before.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .fetch_all(conn)
    .await
}

/// Returns credentials that are no longer valid, and whose connections were not closed since: they were
/// deleted, or their tenant is not active. This includes a connection that was accepted just before. With the
/// tenant, if that is being deleted permanently.
pub(super) async fn closable(
    conn: &mut PgConnection,
) -> sqlx::Result<Vec<(MqCredentialId, Option<TenantId>)>> {
    let rows = sqlx::query!(
        r#"select c.id, case when t.state = 'deleting' and t.delete_storages then c.tenant_id end as "gone: TenantId"
           from mq_credentials c left join tenants t on t.id = c.tenant_id and t.state <> 'active'
           where (c.deleted_at is not null or t.id is not null)
             and (c.connections_closed_at is null
                  or c.connections_closed_at < greatest(c.deleted_at, t.updated_at) + interval '30 seconds')
           order by c.id limit 1000"#,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.gone)).collect())
}

/// Records that the connections of a credential were closed.
pub(super) async fn record_closed(conn: &mut PgConnection, id: MqCredentialId) -> sqlx::Result<()> {
    sqlx::query!(
        "update mq_credentials set connections_closed_at = now() where id = $1",
        id as MqCredentialId
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A refused message to insert.
pub(super) struct NewDead<'a> {
    pub(super) id: DeadMessageId,
    /// None if the message has no valid one.
    pub(super) credential: Option<(MqCredentialId, TenantId)>,
    pub(super) message: &'a Message,
    pub(super) req_no: Option<Uuid>,
    pub(super) refusal: &'a Refusal,
}

/// Inserts refused messages.
pub(super) async fn insert_dead(conn: &mut PgConnection, all: &[NewDead<'_>]) -> sqlx::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let ids: Vec<DeadMessageId> = all.iter().map(|dead| dead.id).collect();
    let tenants: Vec<Option<TenantId>> =
        all.iter().map(|dead| dead.credential.map(|(_, tenant)| tenant)).collect();
    let credentials: Vec<Option<MqCredentialId>> =
        all.iter().map(|dead| dead.credential.map(|(id, _)| id)).collect();
    let codes: Vec<Code> = all.iter().map(|dead| dead.refusal.code).collect();
    let details: Vec<String> = all.iter().map(|dead| dead.refusal.detail.clone()).collect();
    let numbers: Vec<Option<Uuid>> = all.iter().map(|dead| dead.req_no).collect();
    let properties: Vec<_> = all.iter().map(|dead| serde_json::json!(dead.message.properties)).collect();
    let bodies = all.iter().map(|dead| &dead.message.body);
    let sizes: Vec<i64> = bodies.clone().map(|body| i64::try_from(body.len()).unwrap_or(i64::MAX)).collect();
    let bodies: Vec<Vec<u8>> = bodies.map(|body| body[..body.len().min(KEPT_BYTES)].to_vec()).collect();
    sqlx::query!(
        "insert into mq_dead (id, tenant_id, credential_id, code, detail, req_no, properties, body, bytes)
         select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::jsonb[], $8::bytea[],
                              $9::bigint[])",
        &ids as &[DeadMessageId],
        &tenants as &[Option<TenantId>],
        &credentials as &[Option<MqCredentialId>],
        &codes as &[Code],
        &details,
        &numbers as &[Option<Uuid>],
        &properties,
        &bodies,
        &sizes,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes refused messages of a tenant, or of unknown senders, beyond the newest.
pub(super) async fn trim_dead(conn: &mut PgConnection, tenant: Option<TenantId>) -> sqlx::Result<()> {
    let Some(tenant) = tenant else {
        let deleted = sqlx::query!(
            "delete from mq_dead where id in (
                 select id from mq_dead where tenant_id is null order by id desc offset $1 limit $2)",
            KEPT_DEAD,
            TRIMMED,
        );
        return deleted.execute(conn).await.map(drop);
    };
    let deleted = sqlx::query!(
        "delete from mq_dead where id in (
             select id from mq_dead where tenant_id = $1 order by id desc offset $2 limit $3)",
        tenant as TenantId,
        KEPT_DEAD,
        TRIMMED,
    );
    deleted.execute(conn).await.map(drop)
}

/// A refused message.
pub(super) struct Dead {
    pub(super) id: DeadMessageId,
    pub(super) code: Code,
    pub(super) detail: String,
    pub(super) req_no: Option<Uuid>,
    pub(super) message: Message,
    /// Size of the whole body.
    pub(super) bytes: i64,
    pub(super) created_at: Timestamp,
    pub(super) replayed_at: Option<Timestamp>,
}

struct DeadRow {
    id: DeadMessageId,
    code: Code,
    detail: String,
    req_no: Option<Uuid>,
    properties: Json<Properties>,
    body: Vec<u8>,
    bytes: i64,
    created_at: Timestamp,
    replayed_at: Option<jiff_sqlx::Timestamp>,
}

impl From<DeadRow> for Dead {
    fn from(row: DeadRow) -> Self {
        Self {
            id: row.id,
            code: row.code,
            detail: row.detail,
            req_no: row.req_no,
            message: Message { properties: row.properties.0, body: row.body, fault: None },
            bytes: row.bytes,
            created_at: row.created_at,
            replayed_at: row.replayed_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Returns refused messages of the tenant before `before`, newest first.
pub(super) async fn list_dead(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Option<DeadMessageId>,
    limit: i64,
) -> sqlx::Result<Vec<Dead>> {
    let rows = sqlx::query_as!(
        DeadRow,
        r#"select id, code, detail, req_no, properties as "properties: Json<Properties>", body, bytes, created_at,
                  replayed_at
           from mq_dead where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3"#,
        tenant as TenantId,
        before as Option<DeadMessageId>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Dead::from).collect())
}

/// Returns a refused message of the tenant.
pub(super) async fn find_dead(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeadMessageId,
) -> sqlx::Result<Option<Dead>> {
    let row = sqlx::query_as!(
        DeadRow,
        r#"select id, code, detail, req_no, properties as "properties: Json<Properties>", body, bytes, created_at,
                  replayed_at
           from mq_dead where tenant_id = $1 and id = $2"#,
        tenant as TenantId,
        id as DeadMessageId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Dead::from))
}

/// Marks a refused message of the tenant as replayed, and returns it, locked until the end of the transaction.
pub(super) async fn replay_dead(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: DeadMessageId,
) -> sqlx::Result<Option<Dead>> {
    let row = sqlx::query_as!(
        DeadRow,
        r#"update mq_dead set replayed_at = now() where tenant_id = $1 and id = $2
           returning id, code, detail, req_no, properties as "properties: Json<Properties>", body, bytes, created_at,
                     replayed_at"#,
        tenant as TenantId,
        id as DeadMessageId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Dead::from))
}

/// Deletes refused messages that are old.
pub(super) async fn delete_old_dead(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from mq_dead where id in (
             select id from mq_dead where created_at < now() - make_interval(days => $1) order by created_at limit 1000)",
        KEPT_DAYS,
    )
    .execute(conn)
    .await
    .map(drop)
}
