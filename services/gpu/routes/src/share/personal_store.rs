//! SQL of opening links for one person: two steps, with a ticket between them.

use auth::Grant;
use gpu_api::HostLabel;
use ids::{InstanceId, SessionId, ShareLinkId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

use super::{recipient::Recipient, store::OpenedLink};

/// Returns a valid link for one person, of a host name by the hash of its secret.
pub(super) async fn find(
    conn: &mut PgConnection,
    hash: &[u8],
    host: HostLabel,
) -> sqlx::Result<Option<(OpenedLink, Recipient)>> {
    let row = sqlx::query!(
        "select l.id, l.tenant_id, l.created_by, l.created_by_key, l.created_at, l.expires_at, l.recipient_email
           from share_links l join instances i on i.id = l.instance_id
           where l.hash = $1 and l.instance_id = $2 and l.port is not distinct from $3 and l.expires_at > now()
             and i.state <> 'deleted'
             and ($3::int is null or i.public_ports @> jsonb_build_array(jsonb_build_object('port', $3::int)))",
        hash,
        host.instance as InstanceId,
        host.port.map(i32::from),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.and_then(|row| {
        let recipient = Recipient { email: row.recipient_email? };
        let link = OpenedLink {
            id: row.id,
            tenant_id: row.tenant_id,
            created_by: row.created_by,
            created_by_key: row.created_by_key,
            created_at: row.created_at,
            expires_at: row.expires_at,
        };
        Some((link, recipient))
    }))
}

/// Inserts a ticket with which the user of `grant` opens a link.
pub(super) async fn insert_ticket(
    conn: &mut PgConnection,
    hash: &[u8],
    link: ShareLinkId,
    grant: &Grant,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into share_link_tickets (hash, share_link_id, user_id, session_id, rights_at, expires_at)
         values ($1, $2, $3, $4, $5, $6)",
        hash,
        link as ShareLinkId,
        grant.user as UserId,
        grant.session as Option<SessionId>,
        grant.issued_at.to_sqlx() as _,
        expires_at.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// The rights of the person who has opened a link.
pub(super) struct Person {
    pub(super) user: UserId,
    pub(super) session: Option<SessionId>,
    pub(super) rights_at: Timestamp,
}

/// Deletes a valid ticket and returns what it opens and to whom: only one of several callers with the same
/// ticket succeeds. Records the use of the link.
pub(super) async fn redeem(
    conn: &mut PgConnection,
    hash: &[u8],
    host: HostLabel,
) -> sqlx::Result<Option<(OpenedLink, Person)>> {
    let row = sqlx::query!(
        r#"with redeemed as (
               delete from share_link_tickets where hash = $1 and expires_at > now()
               returning share_link_id, user_id, session_id, rights_at)
           update share_links l set last_used_at = now() from instances i, redeemed t
           where l.id = t.share_link_id and l.instance_id = $2 and l.port is not distinct from $3
             and l.expires_at > now() and i.id = l.instance_id and i.state <> 'deleted'
             and ($3::int is null or i.public_ports @> jsonb_build_array(jsonb_build_object('port', $3::int)))
           returning l.id, l.tenant_id, l.created_by, l.created_by_key, l.created_at, l.expires_at, t.user_id as "user_id: UserId",
               t.session_id as "session_id?: SessionId", t.rights_at"#,
        hash,
        host.instance as InstanceId,
        host.port.map(i32::from),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let link = OpenedLink {
            id: row.id,
            tenant_id: row.tenant_id,
            created_by: row.created_by,
            created_by_key: row.created_by_key,
            created_at: row.created_at,
            expires_at: row.expires_at,
        };
        (link, Person { user: row.user_id, session: row.session_id, rights_at: row.rights_at.to_jiff() })
    }))
}

/// Deletes up to `limit` tickets that have expired; returns how many.
pub async fn delete_expired_tickets(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from share_link_tickets where hash in (
             select hash from share_link_tickets where expires_at < now() limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
