//! The table of pools.

use ids::PoolId;
use sqlx::PgConnection;

use super::model::{NewPool, Pool};

/// Returns the pool that runs jobs: the oldest.
pub(crate) async fn find_for_jobs(conn: &mut PgConnection) -> sqlx::Result<Option<PoolId>> {
    sqlx::query_scalar!("select id from pools order by id limit 1").fetch_optional(conn).await
}

pub(crate) async fn find(conn: &mut PgConnection, id: PoolId) -> sqlx::Result<Option<Pool>> {
    sqlx::query_as!(Pool, "select id, name, gpu_specs, created_at from pools where id = $1", id as PoolId,)
        .fetch_optional(conn)
        .await
}

/// Returns pools after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<PoolId>,
    limit: i64,
) -> sqlx::Result<Vec<Pool>> {
    sqlx::query_as!(
        Pool,
        "select id, name, gpu_specs, created_at from pools
         where $1::uuid is null or id > $1 order by id limit $2",
        after as Option<PoolId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Inserts a pool. False if the name is taken.
pub(super) async fn insert(conn: &mut PgConnection, id: PoolId, new: &NewPool) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into pools (id, name, gpu_specs) values ($1, $2, $3) on conflict (name) do nothing",
        id as PoolId,
        new.name,
        &new.gpu_specs,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}
