//! One pool, led by this process while it has the lease.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context as _;
use api::ErrorChain;
use db::{Tx, lease};
use ids::{JobId, PoolId};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{carry_out::carry_out, closed, lost, moves, returns, rows::millis, store, world::World};
use crate::{
    budget,
    config::{Config, FleetConfig},
    fleet,
    metrics::Leading,
    schedule::{Millis, WantedBack},
    state::AppState,
};

/// How often lost and silent workers are looked for.
const HEARTBEATS: Duration = Duration::from_millis(500);
/// Jobs with which it is stored at a time whether they may start, at most.
const MARKED: usize = 2_000;
/// How often use and slices are stored. After a crash, use of this time is forgotten.
const ACCOUNTS: Duration = Duration::from_secs(5);

/// Leads the pool whenever its lease is free, until `stop`.
pub(super) async fn run(state: &AppState, pool: PoolId, stop: &CancellationToken) -> anyhow::Result<()> {
    let me = uuid::Uuid::new_v4();
    while !stop.is_cancelled() {
        // nobody has the lease while nothing is to be decided
        let led = state.rest.is_on().then(|| state.metrics.leading());
        let _ = stop.run_until_cancelled(state.rest.ended()).await;
        drop(led);
        let requested = Instant::now();
        let time = state.config.scheduler.lease();
        let mut tx = state.db.worker().await?;
        let epoch = store::lead(&mut tx, pool, me, time).await?;
        tx.commit().await?;
        if let Some(epoch) = epoch {
            let leader = Leader { state, pool, epoch };
            let work = stop.run_until_cancelled(leader.lead());
            match lease::hold(requested, time, || leader.renew(), work).await {
                Some(Some(ended)) => {
                    if let Err(error) = ended {
                        let cause = ErrorChain(&*error);
                        tracing::error!(pool.id = %pool, %cause, "scheduling of a pool starts again");
                    }
                    leader.release().await?;
                }
                Some(None) => return leader.release().await,
                None => tracing::warn!(pool.id = %pool, "lease of a pool lost"),
            }
        }
        if !state.rest.is_on() {
            let _ = stop.run_until_cancelled(sleep(time / 3)).await;
        }
    }
    Ok(())
}

pub(super) struct Leader<'a> {
    pub(super) state: &'a AppState,
    pub(super) pool: PoolId,
    epoch: i64,
}

impl Leader<'_> {
    async fn renew(&self) -> sqlx::Result<bool> {
        let mut tx = self.state.db.worker().await?;
        let held = store::renew(&mut tx, self.pool, self.epoch, self.state.config.scheduler.lease()).await?;
        tx.commit().await?;
        Ok(held)
    }

    async fn release(&self) -> anyhow::Result<()> {
        let mut tx = self.state.db.worker().await?;
        store::release(&mut tx, self.pool, self.epoch).await?;
        Ok(tx.commit().await?)
    }

    /// A transaction that no later leader's precedes. None if there is a later leader.
    pub(super) async fn fenced(&self) -> sqlx::Result<Option<Tx>> {
        let mut tx = self.state.db.worker().await?;
        Ok(store::fence(&mut tx, self.pool, self.epoch).await?.then_some(tx))
    }

    /// Schedules until there is a later leader, or the pool is gone. Any failure leads to a new start: the pool contains
    /// what may not have been stored.
    async fn lead(&self) -> anyhow::Result<()> {
        let (tell, wanted) = watch::channel(Vec::new());
        tokio::select! {
            ended = Box::pin(self.schedule(wanted)) => ended,
            failed = returns::follow(self.state, self.pool, &tell) => Ok(failed?),
            ended = Box::pin(moves::follow(self)) => ended,
            () = self.state.rest.begun() => Ok(()),
        }
    }

    async fn schedule(&self, mut wanted: watch::Receiver<Vec<WantedBack>>) -> anyhow::Result<()> {
        budget::read_in_time(self.state).await;
        let mut leading = self.state.metrics.leading();
        while let Some(world) = self.load().await? {
            tracing::info!(pool.id = %self.pool, epoch = self.epoch, jobs = world.jobs, "leading a pool");
            if !self.schedule_world(world, &mut leading, &mut wanted).await? {
                break;
            }
        }
        Ok(())
    }

    async fn load(&self) -> sqlx::Result<Option<World>> {
        let mut tx = self.state.db.worker().await?;
        let keep_warm = keep_warm(&self.state.config);
        World::load(&mut tx, self.pool, (self.state.clock)(), keep_warm).await
    }

    /// Schedules until the pool has to be loaded again. False if there is a later leader.
    async fn schedule_world(
        &self,
        mut world: World,
        leading: &mut Leading,
        wanted: &mut watch::Receiver<Vec<WantedBack>>,
    ) -> anyhow::Result<bool> {
        let (state, config) = (self.state, &self.state.config.scheduler);
        let mut submitted = state.submitted.subscribe();
        let (mut looked, mut stored) = (None::<Instant>, Instant::now());
        loop {
            submitted.mark_unchanged();
            if looked.is_none_or(|at| at.elapsed() >= HEARTBEATS) {
                looked = Some(Instant::now());
                if !Box::pin(self.look_after_workers(&mut world)).await? {
                    return Ok(false);
                }
                if !self.mark_holds(&mut world).await? {
                    return Ok(false);
                }
                leading.below_guarantee(world.pool.below_guarantee());
            }
            let mut tx = state.db.worker().await?;
            let is_current = world.follow(&mut tx, millis((state.clock)())).await?;
            drop(tx);
            if world.is_stale {
                return self.store_accounts(&mut world).await;
            }
            if !is_current {
                continue;
            }
            // its sender lives as long as this
            if wanted.has_changed().unwrap_or(false) {
                let wanted = wanted.borrow_and_update().clone();
                world.return_units(wanted, millis((state.clock)()))?;
            }
            if !self.round(&mut world).await? {
                return Ok(false);
            }
            if stored.elapsed() >= ACCOUNTS {
                stored = Instant::now();
                if !self.store_accounts(&mut world).await? {
                    return Ok(false);
                }
                let mut tx = state.db.worker().await?;
                world.compare_models(&mut tx).await?;
            }
            // the sender lives as long as the state
            let _ = timeout(config.poll(), submitted.changed()).await;
        }
    }

    /// Ends the sessions of lost workers, cordons those that are silent, drained or on nodes that fail, tells jobs to leave that may
    /// not cost more, and says how many workers are wanted, and which of the lent ones are taken first. False if there is a later
    /// leader.
    async fn look_after_workers(&self, world: &mut World) -> anyhow::Result<bool> {
        let (state, config) = (self.state, &self.state.config.scheduler);
        let mut tx = state.db.worker().await?;
        let closed = closed::find(&mut tx, self.pool, config).await?;
        let lost = lost::find(&mut tx, self.pool, config).await?;
        let over_cost = store::over_cost(&mut tx, self.pool).await?;
        fleet::set_wanted(&mut tx, self.pool, self.epoch, world.wanted()).await?;
        let ranks = world.changed_ranks(millis((state.clock)()));
        if !ranks.is_empty() {
            fleet::set_ranks(&mut tx, &ranks).await?;
        }
        tx.commit().await?;
        world.ranks.extend(ranks);
        self.tell_cordoned(world, closed.nodes);
        if !lost.is_empty() {
            let Some(mut tx) = self.fenced().await? else { return Ok(false) };
            let ended = lost::end_sessions(&mut tx, &lost, config, (state.clock)()).await?;
            tx.commit().await?;
            (0..ended).for_each(|_| state.metrics.worker_lost());
        }
        if !over_cost.is_empty() && !Box::pin(self.stop(over_cost)).await? {
            return Ok(false);
        }
        world.cordon(closed.workers, millis((state.clock)())).context("silent workers")?;
        Ok(true)
    }

    /// Stores with jobs that wait whether they may start. False if there is a later leader.
    async fn mark_holds(&self, world: &mut World) -> anyhow::Result<bool> {
        let jobs: BTreeSet<JobId> = world.unmarked.iter().copied().take(MARKED).collect();
        if jobs.is_empty() {
            return Ok(true);
        }
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        store::mark_holds(&mut tx, &jobs.iter().copied().collect::<Vec<_>>()).await?;
        tx.commit().await?;
        world.unmarked.retain(|job| !jobs.contains(job));
        Ok(true)
    }

    /// Counts nodes that get no jobs from now on.
    fn tell_cordoned(&self, world: &mut World, nodes: BTreeSet<String>) {
        for node in nodes.difference(&world.failing_nodes) {
            tracing::warn!(pool.id = %self.pool, node, "workers of a node are lost again and again; it gets no jobs");
            self.state.metrics.node_cordoned();
        }
        world.failing_nodes = nodes;
    }

    /// Tells the attempts of these jobs to leave. False if there is a later leader.
    async fn stop(&self, jobs: Vec<JobId>) -> anyhow::Result<bool> {
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        for job in jobs {
            store::tell_to_leave(&mut tx, job, self.state.config.scheduler.leave()).await?;
        }
        tx.commit().await?;
        self.state.assigned.send_replace(());
        Ok(true)
    }

    /// One round of decisions. False if there is a later leader.
    async fn round(&self, world: &mut World) -> anyhow::Result<bool> {
        let state = self.state;
        let now = millis((state.clock)());
        let decisions = world.pool.round(now);
        if decisions.is_empty() {
            return Ok(true);
        }
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        let leave = state.config.scheduler.leave();
        let done = carry_out(&mut tx, world, &decisions, leave, now).await?;
        tx.commit().await?;
        state.assigned.send_replace(());
        for (level, seconds) in done.waits {
            state.metrics.waited(level, seconds);
        }
        state.metrics.unpriced(done.unpriced);
        if !done.dropped_jobs.is_empty() {
            let mut tx = state.db.worker().await?;
            world.compare(&mut tx, &done.dropped_jobs, &done.dropped_workers, now).await?;
        }
        Ok(true)
    }

    /// Stores what has changed of use and slices. False if there is a later leader.
    async fn store_accounts(&self, world: &mut World) -> anyhow::Result<bool> {
        let accounts = world.accounts();
        if accounts == world.stored {
            return Ok(true);
        }
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        store::put_uses(&mut tx, self.pool, &accounts.uses).await?;
        store::put_slices(&mut tx, &accounts.slices).await?;
        tx.commit().await?;
        world.stored = accounts;
        Ok(true)
    }
}

/// How long a lent worker may be idle.
fn keep_warm(config: &Config) -> Millis {
    let idle = config.fleet.as_ref().map(FleetConfig::idle).unwrap_or_default();
    Millis::try_from(idle.as_millis()).unwrap_or(Millis::MAX)
}
