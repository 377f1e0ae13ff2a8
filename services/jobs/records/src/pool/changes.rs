//! The changes that the scheduler of a pool follows.

use ids::{JobId, PoolId, TenantId, WorkerId};
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, types::Json};

/// A row that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    Job(JobId),
    Worker(WorkerId),
    /// The share of a tenant, or whether its jobs may run.
    Tenant(TenantId),
}

/// A row of a pool that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolChange {
    pub pool: PoolId,
    pub changed: Changed,
}

/// As [`publish`], to the schedulers of all pools.
pub async fn publish_to_all(conn: &mut PgConnection, changed: &Changed) -> sqlx::Result<()> {
    for pool in sqlx::query_scalar!("select id from pools order by id").fetch_all(&mut *conn).await? {
        publish(conn, pool, changed).await?;
    }
    Ok(())
}

/// Notifies the scheduler of the pool when the transaction commits: by a row without a notification, which
/// would make commits wait for each other. Schedulers read often, and those of this process are woken.
pub async fn publish(conn: &mut PgConnection, pool: PoolId, changed: &Changed) -> sqlx::Result<()> {
    let change = Json(PoolChange { pool, changed: *changed });
    sqlx::query!("insert into pool_changes (payload) values ($1)", change as _).execute(conn).await.map(drop)
}
