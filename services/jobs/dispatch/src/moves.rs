//! Moves queued jobs to other pools, where they would start at least twice as early.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use ids::{JobId, PoolId};
use jobs_core::cost::may_be_dearer;
use records::{cost, pool};
use schedule::{Event, Millis, Pool};
use tokio::time::{Instant, sleep};
use views::{
    rows::{self, job_key},
    view::{View, in_background},
};

use super::{
    Parts,
    lease::Leader,
    moves_store::{self, Movable},
};

/// Time between two rounds.
const PERIOD: Duration = Duration::from_secs(10);
/// Jobs must have been queued for this long. They also stay while the pool has workers that were ordered
/// within this time and are not ready yet.
const WAITED: Duration = Duration::from_secs(10);
const ORDERED: Duration = Duration::from_secs(60);
/// The minimum time that a move must gain.
const GAIN: Millis = 30_000;
/// Maximum number of jobs that are tried in other pools in a round: each try simulates pools.
const MAX_TRIED: usize = 8;
/// Maximum number of other pools for each job.
const MAX_POOLS: i64 = 4;
/// Time limit for the tries of a round. The last one may take longer.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Moves jobs of a pool until there is a later leader.
pub(super) async fn follow(leader: &Leader<'_>) -> anyhow::Result<()> {
    let parts = leader.parts;
    loop {
        sleep(PERIOD).await;
        let moves = find(parts, leader.pool).await.context("jobs that would start earlier in other pools")?;
        if moves.is_empty() {
            continue;
        }
        let Some(mut tx) = leader.fenced().await? else { return Ok(()) };
        let mut moved = 0;
        for (job, to) in moves {
            if moves_store::move_job(&mut tx, job, leader.pool, to).await? {
                tracing::info!(job.id = %job, pool.id = %leader.pool, to = %to, "job moved to another pool");
                moved += 1;
            }
        }
        tx.commit().await?;
        parts.metrics.moved(moved);
        parts.submitted.send_replace(());
    }
}

/// Returns jobs of the pool that would start earlier in other pools, and those pools.
async fn find(parts: &Parts, own: PoolId) -> anyhow::Result<Vec<(JobId, PoolId)>> {
    let mut tx = parts.db.worker().await?;
    let movable = moves_store::movable(&mut tx, own, WAITED, ORDERED).await?;
    drop(tx);
    if movable.is_empty() {
        return Ok(Vec::new());
    }
    // without a forecast the start of its jobs is unknown
    let view = parts.views.view(own).await?.filter(|view| view.forecast.is_some());
    let Some(view) = view else { return Ok(Vec::new()) };
    let mut waiting: Vec<(Movable, Vec<PoolId>)> = Vec::new();
    let mut tx = parts.db.worker().await?;
    for job in movable.into_iter().filter(|job| view.waits_for(job.id, GAIN)).take(MAX_TRIED) {
        let pools = pools(&mut tx, own, &job).await?;
        waiting.push((job, pools));
    }
    drop(tx);
    let mut others = BTreeMap::new();
    for id in waiting.iter().flat_map(|(_, pools)| pools).copied().collect::<BTreeSet<_>>() {
        if let Some(view) = parts.views.view(id).await? {
            others.insert(id, view);
        }
    }
    Ok(in_background(move || decide(&view, &others, &waiting)).await?)
}

/// Returns the pools that a job can move to: those that can run it, cost no more, and are dedicated if its own pool is.
async fn pools(conn: &mut sqlx::PgConnection, own: PoolId, job: &Movable) -> sqlx::Result<Vec<PoolId>> {
    let workers = u8::try_from(job.gang_size).unwrap_or(u8::MAX);
    let needs = job.needs();
    let wish = (&*job.application, needs.as_ref());
    let others = pool::find_others(conn, job.tenant_id, wish, own, workers.into(), MAX_POOLS).await?;
    let rates = cost::rates(conn, (job.tenant_id, own), job.level, workers).await?;
    let mut found = Vec::with_capacity(others.len());
    for other in others.into_iter().filter(|other| other.dedicated || !job.is_dedicated) {
        if !may_be_dearer(&cost::rates(conn, (job.tenant_id, other.id), job.level, workers).await?, &rates) {
            found.push(other.id);
        }
    }
    Ok(found)
}

/// Tries jobs in other pools, each with the jobs that were moved before it.
fn decide(
    view: &View,
    others: &BTreeMap<PoolId, Arc<View>>,
    waiting: &[(Movable, Vec<PoolId>)],
) -> Vec<(JobId, PoolId)> {
    let mut own = view.loaded.pool.clone();
    let mut courses: BTreeMap<PoolId, Pool> =
        others.iter().map(|(id, view)| (*id, view.loaded.pool.clone())).collect();
    let (begun, mut moves) = (Instant::now(), Vec::new());
    for (job, pools) in waiting.iter().take_while(|_| begun.elapsed() < MAX_TIME) {
        let Some(entry) = own.job(job_key(job.id)) else { continue };
        let entry = entry.job.clone();
        let needs = job.needs();
        let stays = view.start_in(&own, &entry);
        let starts = pools.iter().filter_map(|id| {
            let (view, course) = (others.get(id)?, courses.get(id)?);
            let moved = rows::in_pool(&entry, view.loaded.specs.accepted(needs.as_ref(), None));
            let mut tried = course.clone();
            tried.apply(Event::Submitted(moved.clone()), view.now).ok()?;
            Some((view.start_in(&tried, &moved)?, *id, tried))
        });
        let Some((start, to, tried)) = starts.min_by_key(|(start, id, _)| (*start, *id)) else { continue };
        if is_worth_it(stays, start, view.now) && own.apply(Event::Cancelled(entry.id), view.now).is_ok() {
            courses.insert(to, tried);
            moves.push((job.id, to));
        }
    }
    moves
}

/// Whether a job moves that would start at `stays` in its pool (none: not within a day), and at `moves` in
/// another one.
fn is_worth_it(stays: Option<Millis>, moves: Millis, now: Millis) -> bool {
    stays.is_none_or(|stays| {
        let (stays, moves) = (stays.saturating_sub(now), moves.saturating_sub(now));
        stays >= moves.saturating_mul(2) && stays - moves >= GAIN
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_moves_if_it_starts_twice_as_early_and_that_is_worth_it() {
        let now = 1_000_000;
        let worth = |stays: Option<Millis>, moves| is_worth_it(stays.map(|at| now + at), now + moves, now);
        assert!(worth(Some(60_000), 30_000));
        assert!(!worth(Some(60_000), 30_001));
        assert!(worth(Some(30_000), 0));
        assert!(!worth(Some(29_999), 0));
        assert!(!worth(Some(0), 0));
        assert!(worth(None, 86_000_000));
        assert!(!is_worth_it(Some(now - 1), now - 2, now), "both are late");
    }
}
