//! The table of API keys. Row-level security: a transaction sees the keys of `atelier.user`, those of `atelier.tenant`,
//! and the one whose hash is `atelier.api_key`.

use std::net::IpAddr;

use auth::{Principal, Scope};
use identity_api::KeyLimit;
use ids::{ApiKeyId, TenantId, UserId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::model::{ApiKey, NewApiKey};

struct Row {
    id: ApiKeyId,
    name: String,
    user_id: UserId,
    tenant_id: Option<TenantId>,
    created_by_key: Option<ApiKeyId>,
    scopes: Vec<String>,
    requests_per_second: Option<i32>,
    hint: String,
    created_at: Timestamp,
    expires_at: Option<jiff_sqlx::Timestamp>,
    last_used_at: Option<jiff_sqlx::Timestamp>,
    last_used_from: Option<String>,
}

/// Scopes that a later release stored are unknown here, and allow nothing.
fn known(scopes: &[String]) -> Vec<Scope> {
    scopes.iter().filter_map(|name| name.parse().ok()).collect()
}

fn rate(stored: Option<i32>) -> Option<u32> {
    stored.and_then(|rate| rate.try_into().ok())
}

impl From<Row> for ApiKey {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            user_id: row.user_id,
            tenant_id: row.tenant_id,
            created_by_key: row.created_by_key,
            scopes: known(&row.scopes),
            requests_per_second: rate(row.requests_per_second),
            hint: row.hint,
            secret: None,
            created_at: row.created_at,
            expires_at: row.expires_at.map(jiff_sqlx::Timestamp::to_jiff),
            last_used_at: row.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
            last_used_from: row.last_used_from,
        }
    }
}

/// Adds a key. The transaction must be in the scope of its user.
pub(super) async fn insert(
    conn: &mut PgConnection,
    caller: &Principal,
    new: &NewApiKey,
    secret: &auth::ApiKey,
) -> sqlx::Result<ApiKey> {
    let scopes: auth::Scopes = new.scopes.iter().copied().collect();
    let scopes: Vec<String> = scopes.iter().map(|scope| scope.name().to_owned()).collect();
    let row = sqlx::query_as!(
        Row,
        "insert into api_keys (id, tenant_id, user_id, name, secret_hash, hint, scopes, requests_per_second, expires_at,
                               created_by_key)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         returning id, name, user_id, tenant_id, created_by_key, scopes, requests_per_second, hint, created_at, expires_at,
                   last_used_at, last_used_from",
        ApiKeyId::new() as ApiKeyId,
        caller.tenant.map(|(tenant, _)| tenant) as Option<TenantId>,
        caller.user as UserId,
        new.name,
        &secret.hash()[..],
        secret.hint(),
        &scopes,
        new.requests_per_second.and_then(|rate| i32::try_from(rate).ok()),
        new.expires_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
        caller.api_key as Option<ApiKeyId>,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.into())
}

/// Returns the keys for a tenant (or for none) after `after`: those of one user, or of all that the transaction sees.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    user: Option<UserId>,
    after: Option<ApiKeyId>,
    limit: i64,
) -> sqlx::Result<Vec<ApiKey>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, name, user_id, tenant_id, created_by_key, scopes, requests_per_second, hint, created_at, expires_at,
                last_used_at, last_used_from
         from api_keys
         where tenant_id is not distinct from $1 and ($2::uuid is null or user_id = $2)
           and ($3::uuid is null or id > $3)
         order by id limit $4",
        tenant as Option<TenantId>,
        user as Option<UserId>,
        after as Option<ApiKeyId>,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Returns a key for a tenant (or for none): of one user, or any that the transaction sees.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    user: Option<UserId>,
    id: ApiKeyId,
) -> sqlx::Result<Option<ApiKey>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, user_id, tenant_id, created_by_key, scopes, requests_per_second, hint, created_at, expires_at,
                last_used_at, last_used_from
         from api_keys
         where id = $3 and tenant_id is not distinct from $1 and ($2::uuid is null or user_id = $2)",
        tenant as Option<TenantId>,
        user as Option<UserId>,
        id as ApiKeyId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Deletes a key as [`find`] finds it. Returns whether it existed.
pub(super) async fn delete(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    user: Option<UserId>,
    id: ApiKeyId,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "delete from api_keys
         where id = $3 and tenant_id is not distinct from $1 and ($2::uuid is null or user_id = $2)",
        tenant as Option<TenantId>,
        user as Option<UserId>,
        id as ApiKeyId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Returns the keys that were created with a key, and with those, if they are visible to the transaction.
pub(super) async fn descendants(conn: &mut PgConnection, id: ApiKeyId) -> sqlx::Result<Vec<ApiKeyId>> {
    sqlx::query_scalar!(
        "with recursive created as (
             select id from api_keys where created_by_key = $1
             union all
             select k.id from api_keys k join created c on k.created_by_key = c.id
         )
         select id as \"id!: ApiKeyId\" from created",
        id as ApiKeyId,
    )
    .fetch_all(conn)
    .await
}

/// Returns the limits of the keys that created a key, directly or through other keys, the nearest first. The
/// transaction must be in the scope of its user.
pub(super) async fn limits_of_creators(conn: &mut PgConnection, id: ApiKeyId) -> sqlx::Result<Vec<KeyLimit>> {
    let rows = sqlx::query!(
        "with recursive creators as (
             select created_by_key as id, 1 as distance from api_keys where id = $1
             union all
             select k.created_by_key, c.distance + 1 from api_keys k join creators c on k.id = c.id
         )
         select k.id as \"id!: ApiKeyId\", k.requests_per_second as \"rate!\"
         from creators c join api_keys k on k.id = c.id
         where k.requests_per_second is not null order by c.distance",
        id as ApiKeyId,
    )
    .fetch_all(conn)
    .await?;
    let limit = |id, stored| Some(KeyLimit { api_key_id: id, requests_per_second: rate(Some(stored))? });
    Ok(rows.into_iter().filter_map(|row| limit(row.id, row.rate)).collect())
}

/// Returns when a key expires. The transaction must be in the scope of its user.
pub(crate) async fn expiry(conn: &mut PgConnection, id: ApiKeyId) -> sqlx::Result<Option<Timestamp>> {
    let expiry = sqlx::query_scalar!("select expires_at from api_keys where id = $1", id as ApiKeyId)
        .fetch_optional(conn)
        .await?;
    Ok(expiry.flatten().map(jiff_sqlx::Timestamp::to_jiff))
}

/// Serializes transactions that add keys of the user. Held until the transaction ends.
pub(super) async fn lock_keys_of(conn: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended(current_schema() || ' api keys ' || $1::uuid::text, 0))",
        user as UserId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the number of a user's keys. The transaction must be in the scope of the user.
pub(super) async fn count(conn: &mut PgConnection, user: UserId) -> sqlx::Result<i64> {
    sqlx::query_scalar!("select count(*) as \"count!\" from api_keys where user_id = $1", user as UserId)
        .fetch_one(conn)
        .await
}

/// The fields of a key that the exchange needs.
pub(super) struct Presented {
    pub(super) id: ApiKeyId,
    pub(super) user_id: UserId,
    pub(super) tenant_id: Option<TenantId>,
    pub(super) scopes: Vec<Scope>,
    pub(super) requests_per_second: Option<u32>,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) last_used_at: Option<Timestamp>,
}

struct PresentedRow {
    id: ApiKeyId,
    user_id: UserId,
    tenant_id: Option<TenantId>,
    scopes: Vec<String>,
    requests_per_second: Option<i32>,
    expires_at: Option<jiff_sqlx::Timestamp>,
    last_used_at: Option<jiff_sqlx::Timestamp>,
}

impl From<PresentedRow> for Presented {
    fn from(row: PresentedRow) -> Self {
        Self {
            id: row.id,
            user_id: row.user_id,
            tenant_id: row.tenant_id,
            scopes: known(&row.scopes),
            requests_per_second: rate(row.requests_per_second),
            expires_at: row.expires_at.map(jiff_sqlx::Timestamp::to_jiff),
            last_used_at: row.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Returns the key with this hash. The transaction must be in its scope.
pub(super) async fn presented(conn: &mut PgConnection, hash: &[u8]) -> sqlx::Result<Option<Presented>> {
    let row = sqlx::query_as!(
        PresentedRow,
        "select id, user_id, tenant_id, scopes, requests_per_second, expires_at, last_used_at
         from api_keys where secret_hash = $1",
        hash,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Like [`presented`]. The key is not deleted until the transaction ends.
pub(super) async fn lock_presented(conn: &mut PgConnection, hash: &[u8]) -> sqlx::Result<Option<Presented>> {
    let row = sqlx::query_as!(
        PresentedRow,
        "select id, user_id, tenant_id, scopes, requests_per_second, expires_at, last_used_at
         from api_keys where secret_hash = $1 for key share",
        hash,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Records a use of the key.
pub(super) async fn record_use(
    conn: &mut PgConnection,
    id: ApiKeyId,
    now: Timestamp,
    from: IpAddr,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update api_keys set last_used_at = $2, last_used_from = $3 where id = $1",
        id as ApiKeyId,
        jiff_sqlx::Timestamp::from(now),
        from.to_canonical().to_string(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Marks keys as expired, at most `limit`, and returns them. Needs the worker role.
pub(super) async fn publish_expiry(
    conn: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<ApiKeyId>> {
    sqlx::query_scalar!(
        "update api_keys set expiry_published = true where id in (
             select id from api_keys where expires_at <= $1 and not expiry_published limit $2 for update skip locked)
         returning id as \"id: ApiKeyId\"",
        jiff_sqlx::Timestamp::from(now),
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns when the next key expires. Needs the worker role.
pub(super) async fn next_expiry(conn: &mut PgConnection) -> sqlx::Result<Option<Timestamp>> {
    let next = sqlx::query_scalar!("select min(expires_at) from api_keys where not expiry_published")
        .fetch_one(conn)
        .await?;
    Ok(next.map(jiff_sqlx::Timestamp::to_jiff))
}

/// Deletes keys that expired before `before`, at most `limit`. Needs the worker role.
pub(super) async fn delete_expired(
    conn: &mut PgConnection,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from api_keys where id in (
             select id from api_keys where expires_at < $1 and expiry_published limit $2)",
        jiff_sqlx::Timestamp::from(before),
        limit,
    )
    .execute(conn)
    .await
    .map(drop)
}
