//! Other pools that could run a waiting job, when it would start there, and its cost.

use api::Problem;
use jiff::Timestamp;
use jobs_core::{job::Job, kind::Level};
use records::{cost, pool};
use schedule::Waiting;
use serde::Serialize;
use utoipa::ToSchema;
use views::view::Found;

use super::{Parts, cost_range::CostRange};

/// Maximum number of pools that are considered.
const MAX_POOLS: i64 = 4;

/// Another way to run a job: with a higher level, or in another pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct Alternative {
    /// Name of the pool.
    #[schema(example = "generation")]
    pool: String,
    level: Level,
    /// Median of the expected start if no more jobs arrive. Null if that is more than a day ahead, or if the pool has
    /// too many jobs for a forecast.
    expected_start: Option<Timestamp>,
    /// Cost on each GPU specification of the pool, in the order of preference, except those without a known price.
    costs: Vec<CostRange>,
}

/// Returns the ways to run a job that waits: in its own pool with a higher level, which changes the job, and in others, which
/// takes a new job.
pub(super) async fn find(parts: &Parts, job: &Job, found: &Found) -> Result<Vec<Alternative>, Problem> {
    if matches!(found.explanation.waiting, Waiting::Held(_)) {
        return Ok(Vec::new());
    }
    let workers = job.gang.map_or(1, |gang| gang.size);
    let mut tx = parts.db.tenant(job.tenant).await?;
    let own = pool::find(&mut tx, job.pool).await?;
    let higher = [Level::Urgent, Level::Ordinary].into_iter().filter(|level| *level < job.level);
    let mut ways: Vec<_> =
        own.iter().flat_map(|own| higher.clone().map(|level| (own.id, own.name.clone(), level))).collect();
    let wish = (&*job.application, job.needs.as_ref());
    let others = pool::find_others(&mut tx, job.tenant, wish, job.pool, workers.into(), MAX_POOLS).await?;
    ways.extend(others.into_iter().map(|other| (other.id, other.name, job.level)));
    let mut alternatives = Vec::with_capacity(ways.len());
    for (id, pool, level) in ways {
        let rates = cost::rates(&mut tx, (job.tenant, id), level, workers).await?;
        let costs = rates.into_iter().map(|(spec, rate)| CostRange::new(spec, rate, found.run)).collect();
        alternatives.push((id, Alternative { pool, level, expected_start: None, costs }));
    }
    drop(tx);
    for (id, way) in &mut alternatives {
        let start = parts.views.start_elsewhere(job, *id, way.level).await;
        way.expected_start = start.map_err(Problem::internal)?;
    }
    Ok(alternatives.into_iter().map(|(_, way)| way).collect())
}
