//! The table of pools.

use ids::{PoolId, TenantId};
use jiff::Timestamp;
use jobs_core::{
    cost::Amount,
    fleet::Size,
    needs::{BaseModelKind, Needs},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::model::{LevelFactors, NewPool, Pool, PoolStatus, PoolWorkers, UsablePool};

/// A pool that runs jobs of a tenant.
#[derive(Debug, Clone, Copy)]
pub struct ForJobs {
    pub id: PoolId,
    /// Most workers that it can have.
    pub max_workers: i64,
}

/// Returns the pool that runs jobs of an application for a tenant: the one with this name, if one is given;
/// otherwise the oldest dedicated one, or else the oldest. Pools that are known to lack what the job needs
/// are left out; pools that are known to have it come before those that may have it.
pub async fn find_for_jobs(
    conn: &mut PgConnection,
    tenant: TenantId,
    application: &str,
    name: Option<&str>,
    needs: Option<&Needs>,
) -> sqlx::Result<Option<ForJobs>> {
    sqlx::query_as!(
        ForJobs,
        r#"select id, max_workers + lent_max + (select count(*) from workers w where w.pool_id = p.id and w.stage is null)
                      as "max_workers!"
           from (select *, $5::text is null or has_model(id, $4, $5) as has_model from pools
                 where $1 = any (applications) and (not dedicated or owner_id = $2) and ($3::text is null or name = $3)) p
           where has_model is not false
           order by dedicated desc, has_model is null, id limit 1"#,
        application,
        tenant as TenantId,
        name,
        needs.map(|needs| needs.kind) as Option<BaseModelKind>,
        needs.map(|needs| &*needs.name),
    )
    .fetch_optional(conn)
    .await
}

/// Another pool that could run a job.
#[derive(Debug, Clone)]
pub struct Other {
    pub id: PoolId,
    pub name: String,
    pub dedicated: bool,
}

/// Returns the other pools that run jobs of an application for a tenant, can have at least `workers` workers, and are not known to
/// lack what a job needs: dedicated ones first, then the oldest.
pub async fn find_others(
    conn: &mut PgConnection,
    tenant: TenantId,
    (application, needs): (&str, Option<&Needs>),
    pool: PoolId,
    workers: i64,
    limit: i64,
) -> sqlx::Result<Vec<Other>> {
    sqlx::query_as!(
        Other,
        "select id, name, dedicated from pools p
         where $1 = any (applications) and (not dedicated or owner_id = $2) and id <> $3
           and max_workers + lent_max + (select count(*) from workers w where w.pool_id = p.id and w.stage is null) >= $4
           and ($7::text is null or has_model(id, $6, $7) is not false)
         order by dedicated desc, id limit $5",
        application,
        tenant as TenantId,
        pool as PoolId,
        workers,
        limit,
        needs.map(|needs| needs.kind) as Option<BaseModelKind>,
        needs.map(|needs| &*needs.name),
    )
    .fetch_all(conn)
    .await
}

/// Returns the pools after `after` that run jobs of a tenant, by id.
pub(super) async fn usable(
    conn: &mut PgConnection,
    tenant: TenantId,
    after: Option<PoolId>,
    limit: i64,
) -> sqlx::Result<Vec<UsablePool>> {
    sqlx::query_as!(
        UsablePool,
        "select id, name, gpu_specs, applications, dedicated from pools
         where (not dedicated or owner_id = $1) and ($2::uuid is null or id > $2) order by id limit $3",
        tenant as TenantId,
        after as Option<PoolId>,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Whether a pool runs jobs of a tenant.
pub async fn is_usable(conn: &mut PgConnection, tenant: TenantId, id: PoolId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from pools where id = $2 and (not dedicated or owner_id = $1)) as "found!""#,
        tenant as TenantId,
        id as PoolId,
    )
    .fetch_one(conn)
    .await
}

struct Row {
    id: PoolId,
    name: String,
    gpu_specs: Vec<String>,
    owner_id: Option<TenantId>,
    applications: Vec<String>,
    dedicated: bool,
    service: Option<String>,
    version: Option<String>,
    min_workers: i32,
    max_workers: i32,
    lent_max: i32,
    wanted: i32,
    actual: i64,
    lent_actual: i64,
    ready: i64,
    problem: Option<String>,
    retry_at: Option<jiff_sqlx::Timestamp>,
    urgent_factor: Decimal,
    ordinary_factor: Decimal,
    background_factor: Decimal,
    generation: i64,
    created_at: Timestamp,
}

impl From<Row> for Pool {
    fn from(row: Row) -> Self {
        let count = |stored: i32| u32::try_from(stored).unwrap_or_default();
        let counted = |rows: i64| u32::try_from(rows).unwrap_or(u32::MAX);
        let (min, max, lent_max) = (count(row.min_workers), count(row.max_workers), count(row.lent_max));
        let size = Size { min, max, lent_max, wanted: count(row.wanted) };
        Self {
            id: row.id,
            name: row.name,
            gpu_specs: row.gpu_specs,
            tenant_id: row.owner_id,
            applications: row.applications,
            dedicated: row.dedicated,
            workers: row.service.map(|service| PoolWorkers {
                service,
                version: row.version,
                min,
                max,
                lent_max,
            }),
            level_factors: LevelFactors {
                urgent: Amount(row.urgent_factor),
                ordinary: Amount(row.ordinary_factor),
                background: Amount(row.background_factor),
            },
            status: PoolStatus {
                desired: size.firm(),
                actual: counted(row.actual),
                lent_desired: size.lent(),
                lent_actual: counted(row.lent_actual),
                ready: counted(row.ready),
                problem: row.problem,
                retry_at: row.retry_at.map(jiff_sqlx::Timestamp::to_jiff),
            },
            created_at: row.created_at,
            generation: row.generation,
        }
    }
}

/// Selects pools. A macro, as the text of a checked query is a literal.
macro_rules! select_pools {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select p.id, p.name, p.gpu_specs, p.owner_id, p.applications, p.dedicated, p.service, p.version, p.min_workers, p.max_workers,
                      p.lent_max, p.wanted,
                      (select count(*) from workers w
                       where w.pool_id = p.id and w.stage in ('ordered', 'placed') and w.tenure = 'firm') as "actual!",
                      (select count(*) from workers w
                       where w.pool_id = p.id and w.stage in ('ordered', 'placed') and w.tenure = 'lent') as "lent_actual!",
                      (select count(*) from workers w
                       where w.pool_id = p.id and w.state = 'ready' and w.stage is distinct from 'draining') as "ready!",
                      p.problem, p.retry_at, p.urgent_factor, p.ordinary_factor, p.background_factor, p.generation, p.created_at
               from pools p "# + $rest,
            $($arguments)*
        )
    };
}

pub async fn find(conn: &mut PgConnection, id: PoolId) -> sqlx::Result<Option<Pool>> {
    Ok(select_pools!("where p.id = $1", id as PoolId).fetch_optional(conn).await?.map(Pool::from))
}

/// As [`find`], and locks the pool.
pub async fn find_for_update(conn: &mut PgConnection, id: PoolId) -> sqlx::Result<Option<Pool>> {
    let locked = sqlx::query_scalar!("select id from pools where id = $1 for no key update", id as PoolId);
    locked.fetch_optional(&mut *conn).await?;
    find(conn, id).await
}

/// Returns pools after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<PoolId>,
    limit: i64,
) -> sqlx::Result<Vec<Pool>> {
    let rows = select_pools!(
        "where $1::uuid is null or p.id > $1 order by p.id limit $2",
        after as Option<PoolId>,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Pool::from).collect())
}

/// Inserts a pool. False if the name is taken.
pub(super) async fn insert(conn: &mut PgConnection, id: PoolId, new: &NewPool) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into pools (id, name, gpu_specs, owner_id, dedicated) values ($1, $2, $3, $4, $5)
         on conflict (name) do nothing",
        id as PoolId,
        new.name,
        &new.gpu_specs,
        new.tenant_id as Option<TenantId>,
        new.dedicated,
    );
    let is_inserted = done.execute(&mut *conn).await?.rows_affected() == 1;
    if is_inserted && let Some(workers) = &new.workers {
        set_workers(conn, id, Some(workers)).await?;
    }
    if is_inserted && let Some(factors) = &new.level_factors {
        set_level_factors(conn, id, factors).await?;
    }
    if is_inserted && let Some(applications) = &new.applications {
        set_applications(conn, id, applications).await?;
    }
    Ok(is_inserted)
}

/// Changes which applications the workers run.
pub(super) async fn set_applications(
    conn: &mut PgConnection,
    id: PoolId,
    applications: &[String],
) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set applications = $2, generation = generation + 1 where id = $1",
        id as PoolId,
        applications,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Changes the factors of the price by level.
pub(super) async fn set_level_factors(
    conn: &mut PgConnection,
    id: PoolId,
    factors: &LevelFactors,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set urgent_factor = $2, ordinary_factor = $3, background_factor = $4, generation = generation + 1
         where id = $1",
        id as PoolId,
        factors.urgent.0,
        factors.ordinary.0,
        factors.background.0,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Changes which workers the platform runs. After earlier failures, orders are tried again at once.
pub(super) async fn set_workers(
    conn: &mut PgConnection,
    id: PoolId,
    workers: Option<&PoolWorkers>,
) -> sqlx::Result<()> {
    let count = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    sqlx::query!(
        "update pools
         set service = $2, version = $3, min_workers = $4, max_workers = $5, lent_max = $6, failures = 0, retry_at = null,
             lend_at = null, problem = null, generation = generation + 1
         where id = $1",
        id as PoolId,
        workers.map(|workers| workers.service.as_str()),
        workers.and_then(|workers| workers.version.as_deref()),
        workers.map_or(0, |workers| count(workers.min)),
        workers.map_or(0, |workers| count(workers.max)),
        workers.map_or(0, |workers| count(workers.lent_max)),
    )
    .execute(conn)
    .await
    .map(drop)
}
