//! SQL of tenants that have nothing left to spend.

use std::collections::BTreeMap;

use ids::TenantId;
use jiff::Timestamp;
use jobs_core::status::QueuedReason;
use sqlx::PgConnection;

use super::Hold;

/// Returns the last answers.
pub(super) async fn all(conn: &mut PgConnection) -> sqlx::Result<BTreeMap<TenantId, Hold>> {
    let rows = sqlx::query!(
        r#"select tenant_id as "tenant_id: TenantId", code as "code: QueuedReason", renews_at from budget_holds"#
    );
    let hold = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.tenant_id, (row.code, hold(row.renews_at)))).collect())
}

/// Stores the answer for a tenant; nothing, if its jobs may start.
pub(super) async fn put(conn: &mut PgConnection, tenant: TenantId, hold: Option<&Hold>) -> sqlx::Result<()> {
    let Some((code, renews_at)) = hold else {
        let deleted = sqlx::query!("delete from budget_holds where tenant_id = $1", tenant as TenantId);
        return deleted.execute(conn).await.map(drop);
    };
    sqlx::query!(
        "insert into budget_holds (tenant_id, code, renews_at) values ($1, $2, $3)
         on conflict (tenant_id) do update set code = excluded.code, renews_at = excluded.renews_at, said_at = now()",
        tenant as TenantId,
        *code as QueuedReason,
        renews_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns when a tenant has more to spend again; none if that is not known.
pub async fn renews_at(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<Timestamp>> {
    let found =
        sqlx::query_scalar!("select renews_at from budget_holds where tenant_id = $1", tenant as TenantId);
    Ok(found.fetch_optional(conn).await?.flatten().map(jiff_sqlx::Timestamp::to_jiff))
}
