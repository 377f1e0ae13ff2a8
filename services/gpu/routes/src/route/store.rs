//! SQL of tickets, and of instances by host label.

use auth::Grant;
use gpu_api::HostLabel;
use gpu_core::instance::{Order, PublicPort, State};
use ids::{InstanceId, SessionId, TenantId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, types::Json};
use tenants::TenantState;

/// An instance that receives traffic.
pub(crate) struct Destination {
    pub tenant: TenantId,
    pub state: State,
    pub order: Order,
    pub public_ports: Vec<PublicPort>,
    /// Whether its tenant is neither suspended nor being deleted.
    pub(crate) is_active: bool,
}

/// A ticket that was redeemed.
pub(crate) struct RedeemedTicket {
    pub tenant_id: TenantId,
    pub user_id: UserId,
    pub session_id: Option<SessionId>,
    pub rights_at: jiff_sqlx::Timestamp,
}

/// Returns any tenant's instance, unless it is deleted. For the gateway, which authorizes by tickets.
pub(crate) async fn find(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Destination>> {
    struct Row {
        tenant_id: TenantId,
        phase: Json<State>,
        spec: Json<Order>,
        public_ports: Json<Vec<PublicPort>>,
        is_active: bool,
    }
    let row = sqlx::query_as!(
        Row,
        r#"select i.tenant_id, i.phase, i.spec, i.public_ports, coalesce(t.state, 'active') = $2 as "is_active!"
           from instances i left join tenants t on t.id = i.tenant_id where i.id = $1 and i.state <> 'deleted'"#,
        id as InstanceId,
        TenantState::Active as TenantState,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Destination {
        tenant: row.tenant_id,
        state: row.phase.0,
        order: row.spec.0,
        public_ports: row.public_ports.0,
        is_active: row.is_active,
    }))
}

/// A ticket to insert. Only the hash of its secret is stored.
pub(crate) struct NewTicket {
    pub hash: Vec<u8>,
    pub tenant: TenantId,
    pub instance: InstanceId,
    /// The public port that it opens; none for that of the service.
    pub port: Option<u16>,
    /// The rights of the user who creates it.
    pub grant: Grant,
    pub expires_at: Timestamp,
}

/// Inserts a ticket.
pub(crate) async fn insert_ticket(conn: &mut PgConnection, ticket: &NewTicket) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into tickets (hash, tenant_id, instance_id, user_id, expires_at, session_id, rights_at, port)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        ticket.hash,
        ticket.tenant as TenantId,
        ticket.instance as InstanceId,
        ticket.grant.user as UserId,
        ticket.expires_at.to_sqlx() as _,
        ticket.grant.session as Option<SessionId>,
        ticket.grant.issued_at.to_sqlx() as _,
        ticket.port.map(i32::from),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes a valid ticket and returns it: only one of several callers with the same ticket succeeds.
pub(crate) async fn redeem_ticket(
    conn: &mut PgConnection,
    hash: &[u8],
    host: HostLabel,
) -> sqlx::Result<Option<RedeemedTicket>> {
    sqlx::query_as!(
        RedeemedTicket,
        "delete from tickets t using instances i
         where t.hash = $1 and t.instance_id = $2 and t.expires_at > now()
           and t.port is not distinct from $3 and i.id = t.instance_id and i.state <> 'deleted'
           and ($3::int is null or i.public_ports @> jsonb_build_array(jsonb_build_object('port', $3::int)))
         returning t.tenant_id, t.user_id, t.session_id, t.rights_at",
        hash,
        host.instance as InstanceId,
        host.port.map(i32::from),
    )
    .fetch_optional(conn)
    .await
}

/// Deletes up to `limit` expired tickets; returns how many.
pub async fn delete_expired_tickets(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    sqlx::query!(
        "delete from tickets where hash in (select hash from tickets where expires_at < now() limit $1)",
        limit,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
