//! SQL of repairs.

use sqlx::PgConnection;

use super::model::{Finding, Repair, RepairKind};

/// Records a repair in the transaction that makes it.
pub(crate) async fn record(
    conn: &mut PgConnection,
    cluster: Option<&str>,
    finding: &Finding,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into repairs (cluster, kind, unit_id, detail) values ($1, $2, $3, $4)",
        cluster,
        finding.kind as RepairKind,
        finding.unit as Option<ids::UnitId>,
        finding.detail,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns repairs before `before`, newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<Repair>> {
    sqlx::query_as!(
        Repair,
        "select id, at, cluster, kind, unit_id, detail from repairs
         where $1::bigint is null or id < $1 order by id desc limit $2",
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}
