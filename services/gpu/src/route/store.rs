//! SQL of tickets, and the look-up of an instance by its host label.

use ids::{InstanceId, TenantId, UserId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, types::Json};

use crate::instance::{Order, State};

/// What a route is made of.
pub(crate) struct Found {
    pub(crate) tenant: TenantId,
    pub(crate) state: State,
    pub(crate) order: Order,
}

/// Any tenant's instance, unless it is deleted. For the gateway, which authorizes by tickets.
pub(crate) async fn find(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Found>> {
    let row: Option<(TenantId, Json<State>, Json<Order>)> =
        sqlx::query_as("select tenant_id, phase, spec from instances where id = $1 and state <> 'deleted'")
            .bind(id)
            .fetch_optional(conn)
            .await?;
    Ok(row.map(|(tenant, state, order)| Found { tenant, state: state.0, order: order.0 }))
}

/// Keeps a ticket's hash.
pub(crate) async fn insert_ticket(
    conn: &mut PgConnection,
    hash: &[u8],
    tenant: TenantId,
    instance: InstanceId,
    user: UserId,
    expires_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into tickets (hash, tenant_id, instance_id, user_id, expires_at) values ($1, $2, $3, $4, $5)",
    )
    .bind(hash)
    .bind(tenant)
    .bind(instance)
    .bind(user)
    .bind(expires_at.to_sqlx())
    .execute(conn)
    .await
    .map(drop)
}

/// Uses a ticket up: it is gone in the same statement that finds it, so of two who bring it one gets it.
pub(crate) async fn redeem_ticket(
    conn: &mut PgConnection,
    hash: &[u8],
    instance: InstanceId,
) -> sqlx::Result<Option<(TenantId, UserId)>> {
    sqlx::query_as(
        "delete from tickets t using instances i
         where t.hash = $1 and t.instance_id = $2 and t.expires_at > now()
           and i.id = t.instance_id and i.state <> 'deleted'
         returning t.tenant_id, t.user_id",
    )
    .bind(hash)
    .bind(instance)
    .fetch_optional(conn)
    .await
}

/// Removes tickets that nobody used in time.
pub(crate) async fn forget_tickets(conn: &mut PgConnection) -> sqlx::Result<u64> {
    sqlx::query(
        "delete from tickets where hash in (select hash from tickets where expires_at < now() limit 10000)",
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
}
