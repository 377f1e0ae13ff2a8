//! SQL of share links.

use auth::{Grant, Principal, session_of};
use gpu_api::HostLabel;
use ids::{ApiKeyId, InstanceId, ShareLinkId, TenantId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::recipient::Recipient;

/// A link, without its secret.
pub(crate) struct StoredLink {
    pub id: ShareLinkId,
    pub port: Option<i32>,
    pub name: String,
    pub recipient_email: Option<String>,
    pub created_by: UserId,
    pub created_by_key: Option<ApiKeyId>,
    pub created_at: jiff_sqlx::Timestamp,
    pub expires_at: jiff_sqlx::Timestamp,
    pub last_used_at: Option<jiff_sqlx::Timestamp>,
}

/// A link to insert. Only the hash of its secret is stored.
pub(super) struct NewLink<'l> {
    pub(super) tenant: TenantId,
    pub(super) instance: InstanceId,
    /// The public port that it opens; none for that of the service.
    pub(super) port: Option<u16>,
    pub(super) name: &'l str,
    pub(super) hash: Vec<u8>,
    /// The only person who may open it.
    pub(super) recipient: Option<&'l Recipient>,
    pub(super) created_by: &'l Principal,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

/// Returns the valid links of an instance, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    instance: InstanceId,
    before: Option<ShareLinkId>,
    limit: i64,
) -> sqlx::Result<Vec<StoredLink>> {
    sqlx::query_as!(
        StoredLink,
        "select id, port, name, recipient_email, created_by, created_by_key, created_at, expires_at, last_used_at
         from share_links
         where instance_id = $1 and expires_at > now() and ($2::uuid is null or id < $2)
         order by id desc limit $3",
        instance as InstanceId,
        before as Option<ShareLinkId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Locks the links of an instance against others that add some, and counts those that are valid.
pub(super) async fn count_locked(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<i64> {
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('share links ' || $1, 0))",
        instance.to_string()
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar!(
        "select count(*) as \"count!\" from share_links where instance_id = $1 and expires_at > now()",
        instance as InstanceId,
    )
    .fetch_one(conn)
    .await
}

/// Inserts a link.
pub(super) async fn insert(conn: &mut PgConnection, link: &NewLink<'_>) -> sqlx::Result<StoredLink> {
    sqlx::query_as!(
        StoredLink,
        "insert into share_links (id, tenant_id, instance_id, port, name, hash, created_by, created_at, expires_at,
             recipient_email, created_by_key, rights_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         returning id, port, name, recipient_email, created_by, created_by_key, created_at, expires_at, last_used_at",
        ShareLinkId::new() as ShareLinkId,
        link.tenant as TenantId,
        link.instance as InstanceId,
        link.port.map(i32::from),
        link.name,
        link.hash,
        link.created_by.user as UserId,
        link.created_at.to_sqlx() as _,
        link.expires_at.to_sqlx() as _,
        link.recipient.map(|recipient| recipient.email.as_str()),
        link.created_by.api_key as Option<ApiKeyId>,
        link.created_by.issued_at.to_sqlx() as _,
    )
    .fetch_one(conn)
    .await
}

/// Deletes a link of an instance. Returns false if the instance has no such link.
pub(super) async fn delete(
    conn: &mut PgConnection,
    instance: InstanceId,
    id: ShareLinkId,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "delete from share_links where instance_id = $1 and id = $2",
        instance as InstanceId,
        id as ShareLinkId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() > 0)
}

/// A link that was opened.
pub(super) struct OpenedLink {
    pub(super) id: ShareLinkId,
    pub(super) tenant_id: TenantId,
    pub(super) created_by: UserId,
    pub(super) created_by_key: Option<ApiKeyId>,
    pub(super) created_at: jiff_sqlx::Timestamp,
    pub(super) expires_at: jiff_sqlx::Timestamp,
}

impl OpenedLink {
    /// The rights with which the link ends.
    pub(super) fn grant(&self) -> Grant {
        let (user, tenant) = (self.created_by, Some(self.tenant_id));
        let session = self.created_by_key.map(session_of);
        Grant { user, tenant, session, issued_at: self.created_at.to_jiff() }
    }
}

/// Finds a valid link for everyone, of a host name by its secret, and records its use.
pub(super) async fn open(
    conn: &mut PgConnection,
    hash: &[u8],
    host: HostLabel,
) -> sqlx::Result<Option<OpenedLink>> {
    sqlx::query_as!(
        OpenedLink,
        "update share_links l set last_used_at = now() from instances i
         where l.hash = $1 and l.instance_id = $2 and l.port is not distinct from $3 and l.expires_at > now()
           and l.recipient_email is null
           and i.id = l.instance_id and i.state <> 'deleted'
           and ($3::int is null or i.public_ports @> jsonb_build_array(jsonb_build_object('port', $3::int)))
         returning l.id, l.tenant_id, l.created_by, l.created_by_key, l.created_at, l.expires_at",
        hash,
        host.instance as InstanceId,
        host.port.map(i32::from),
    )
    .fetch_optional(conn)
    .await
}

/// Returns the valid links of a host name.
pub(crate) async fn valid(conn: &mut PgConnection, host: HostLabel) -> sqlx::Result<Vec<ShareLinkId>> {
    sqlx::query_scalar!(
        "select id as \"id: ShareLinkId\" from share_links
         where instance_id = $1 and port is not distinct from $2 and expires_at > now() order by id",
        host.instance as InstanceId,
        host.port.map(i32::from),
    )
    .fetch_all(conn)
    .await
}

/// Deletes up to `limit` links that have expired; returns how many.
pub async fn delete_expired(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from share_links where id in (select id from share_links where expires_at < now() limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}

/// Returns up to `limit` valid links after `after`, in the order of their ids.
pub(super) async fn all(
    conn: &mut PgConnection,
    after: Option<ShareLinkId>,
    limit: i64,
) -> sqlx::Result<Vec<OpenedLink>> {
    sqlx::query_as!(
        OpenedLink,
        "select id, tenant_id, created_by, created_by_key, created_at, expires_at from share_links
         where $1::uuid is null or id > $1 order by id limit $2",
        after as Option<ShareLinkId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Deletes links.
pub(super) async fn delete_all(conn: &mut PgConnection, ids: &[ShareLinkId]) -> sqlx::Result<()> {
    sqlx::query!("delete from share_links where id = any($1)", ids as &[ShareLinkId])
        .execute(conn)
        .await
        .map(drop)
}
