//! SQL of the models that workers have.

use ids::{PoolId, TenantId, WorkerId};
use jobs_core::needs::{BaseModelKind, Models};
use sqlx::PgConnection;

use super::model::BaseModel;
use crate::pool::{self, Changed};

/// Maximum number of known models that a refusal names.
const NAMED: i64 = 50;

/// Stores the models of a locked worker, and of its image, and notifies the scheduler. Writes nothing if they
/// are unchanged.
pub async fn report(conn: &mut PgConnection, worker: WorkerId, models: &Models) -> sqlx::Result<()> {
    let Models { checkpoints, base_models } = models;
    let changed = sqlx::query_scalar!(
        r#"update workers set checkpoints = $2, base_models = $3
           where id = $1 and (checkpoints, base_models) is distinct from ($2, $3)
           returning pool_id as "pool_id: PoolId""#,
        worker as WorkerId,
        checkpoints.as_deref(),
        base_models.as_deref(),
    );
    let changed = changed.fetch_optional(&mut *conn).await?;
    if checkpoints.is_some() || base_models.is_some() {
        report_image(conn, worker, models).await?;
    }
    match changed {
        Some(pool) => pool::publish(conn, pool, &Changed::Worker(worker)).await,
        None => Ok(()),
    }
}

/// Stores the models of a worker's image, and deletes images that the pool no longer uses.
async fn report_image(conn: &mut PgConnection, worker: WorkerId, models: &Models) -> sqlx::Result<()> {
    let done = sqlx::query!(
        "insert into pool_images as i (pool_id, service, version, checkpoints, base_models)
         select w.pool_id, w.service, coalesce(w.version, ''), $2, $3 from workers w
         where w.id = $1 and w.service is not null and not exists (
             select from pool_images known
             where (known.pool_id, known.service, known.version) = (w.pool_id, w.service, coalesce(w.version, ''))
               and (known.checkpoints, known.base_models) is not distinct from ($2, $3))
         on conflict (pool_id, service, version) do update
         set checkpoints = excluded.checkpoints, base_models = excluded.base_models, reported_at = now()",
        worker as WorkerId,
        models.checkpoints.as_deref(),
        models.base_models.as_deref(),
    );
    if done.execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(());
    }
    sqlx::query!(
        "delete from pool_images i using workers own, pools p
         where own.id = $1 and p.id = own.pool_id and i.pool_id = p.id
           and (i.service, i.version) is distinct from (p.service, coalesce(p.version, ''))
           and not exists (select from workers w where w.pool_id = p.id
                              and (w.service, coalesce(w.version, '')) = (i.service, i.version))",
        worker as WorkerId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the different sets of models that workers of a pool have, or will have.
pub async fn of_pool(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<Models>> {
    sqlx::query_as!(
        Models,
        "select checkpoints, base_models from pool_models($1) order by checkpoints, base_models",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Returns the models of a kind in the pools that run jobs of an application for a tenant; only of the pool
/// with this name, if one is given. The first by name.
pub async fn known(
    conn: &mut PgConnection,
    tenant: TenantId,
    application: &str,
    pool: Option<&str>,
    kind: BaseModelKind,
) -> sqlx::Result<Vec<String>> {
    let names = sqlx::query_scalar!(
        r#"select distinct names.name as "name!"
           from pools p, pool_models(p.id) m,
                unnest(case $4::text when 'checkpoint' then m.checkpoints else m.base_models end) as names (name)
           where $1 = any (p.applications) and (not p.dedicated or p.owner_id = $2) and ($3::text is null or p.name = $3)
           order by 1 limit $5"#,
        application,
        tenant as TenantId,
        pool,
        kind as BaseModelKind,
        NAMED,
    );
    let mut names: Vec<String> = names.fetch_all(conn).await?;
    // the database sorts in another order
    names.sort_unstable();
    Ok(names)
}

/// The position in a list: pool, kind and name.
pub(super) type Position = (PoolId, BaseModelKind, String);

/// Which base models a list shows.
pub(super) struct Filter {
    /// Only those of pools that run jobs of this tenant.
    pub(super) tenant: Option<TenantId>,
    /// Name of the pool.
    pub(super) pool: Option<String>,
    pub(super) kind: Option<BaseModelKind>,
}

/// Returns the base models after `after`, by pool, kind and name.
pub(super) async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    after: Option<&Position>,
    limit: i64,
) -> sqlx::Result<Vec<BaseModel>> {
    sqlx::query_as!(
        BaseModel,
        r#"select p.id as "pool_id: PoolId", p.name as pool, k.kind as "kind!: BaseModelKind", k.name as "name!",
                  sum(m.ready)::bigint as "workers!"
           from pools p, pool_models(p.id) m,
                lateral (
                    select 'base_model' as kind, unnest(m.base_models) as name where 'dreambooth' = any (p.applications)
                    union all
                    select 'checkpoint', unnest(m.checkpoints) where 'stable-diffusion' = any (p.applications)) k
           where ($1::uuid is null or not p.dedicated or p.owner_id = $1)
             and ($2::text is null or p.name = $2) and ($3::text is null or k.kind = $3)
             and ($4::uuid is null or (p.id, k.kind collate "C", k.name collate "C") > ($4, $5 collate "C", $6 collate "C"))
           group by p.id, p.name, k.kind, k.name
           order by p.id, k.kind collate "C", k.name collate "C" limit $7"#,
        filter.tenant as Option<TenantId>,
        filter.pool,
        filter.kind as Option<BaseModelKind>,
        after.map(|(pool, _, _)| *pool) as Option<PoolId>,
        after.map(|(_, kind, _)| *kind) as Option<BaseModelKind>,
        after.map(|(_, _, name)| name.as_str()),
        limit,
    )
    .fetch_all(conn)
    .await
}
