//! SQL of tickets, and of instances by host label.

use auth::Grant;
use ids::{InstanceId, SessionId, TenantId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, types::Json};

use crate::instance::{Order, State};

/// An instance that traffic is for.
pub(crate) struct Destination {
    pub(crate) tenant: TenantId,
    pub(crate) state: State,
    pub(crate) order: Order,
}

/// A ticket that was redeemed.
pub(crate) struct RedeemedTicket {
    pub(crate) tenant_id: TenantId,
    pub(crate) user_id: UserId,
    pub(crate) session_id: Option<SessionId>,
    pub(crate) rights_at: jiff_sqlx::Timestamp,
}

/// Returns any tenant's instance, unless it is deleted. For the gateway, which authorizes by tickets.
pub(crate) async fn find(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Destination>> {
    struct Row {
        tenant_id: TenantId,
        phase: Json<State>,
        spec: Json<Order>,
    }
    let row = sqlx::query_as!(
        Row,
        "select tenant_id, phase, spec from instances where id = $1 and state <> 'deleted'",
        id as InstanceId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Destination { tenant: row.tenant_id, state: row.phase.0, order: row.spec.0 }))
}

/// A ticket to insert. Only the hash of its secret is stored.
pub(crate) struct NewTicket {
    pub(crate) hash: Vec<u8>,
    pub(crate) tenant: TenantId,
    pub(crate) instance: InstanceId,
    /// The rights of the user who creates it.
    pub(crate) grant: Grant,
    pub(crate) expires_at: Timestamp,
}

/// Inserts a ticket.
pub(crate) async fn insert_ticket(conn: &mut PgConnection, ticket: &NewTicket) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into tickets (hash, tenant_id, instance_id, user_id, expires_at, session_id, rights_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        ticket.hash,
        ticket.tenant as TenantId,
        ticket.instance as InstanceId,
        ticket.grant.user as UserId,
        ticket.expires_at.to_sqlx() as _,
        ticket.grant.session as Option<SessionId>,
        ticket.grant.issued_at.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes a valid ticket and returns it: of several callers with the same ticket, one gets it.
pub(crate) async fn redeem_ticket(
    conn: &mut PgConnection,
    hash: &[u8],
    instance: InstanceId,
) -> sqlx::Result<Option<RedeemedTicket>> {
    sqlx::query_as!(
        RedeemedTicket,
        "delete from tickets t using instances i
         where t.hash = $1 and t.instance_id = $2 and t.expires_at > now()
           and i.id = t.instance_id and i.state <> 'deleted'
         returning t.tenant_id, t.user_id, t.session_id, t.rights_at",
        hash,
        instance as InstanceId,
    )
    .fetch_optional(conn)
    .await
}

/// Deletes up to `limit` expired tickets; returns how many.
pub(crate) async fn delete_expired_tickets(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from tickets where hash in (select hash from tickets where expires_at < now() limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
