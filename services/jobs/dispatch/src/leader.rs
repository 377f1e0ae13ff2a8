//! One pool, led by this process while it has the lease.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context as _;
use api::ErrorChain;
use attempts::fleet::{self, FleetConfig};
use db::lease;
use ids::{JobId, PoolId};
use records::budget;
use schedule::{Millis, WantedBack};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use views::{closed, loaded::LoadedPool, rows::millis};

use super::{Parts, carry_out::carry_out, lease::Leader, lost, metrics::Leading, moves, returns, store};

/// Time between two checks for lost and silent workers.
const HEARTBEATS: Duration = Duration::from_millis(500);
/// Maximum number of jobs for which one transaction stores whether they may start.
const MARKED: usize = 2_000;
/// How often use and slices are stored. After a crash, use of this time is forgotten.
const ACCOUNTS: Duration = Duration::from_secs(5);

/// Leads the pool whenever its lease is free, until `stop`.
pub(super) async fn run(parts: &Parts, pool: PoolId, stop: &CancellationToken) -> anyhow::Result<()> {
    let me = uuid::Uuid::new_v4();
    while !stop.is_cancelled() {
        // nobody needs the lease while there is nothing to decide
        let led = parts.rest.is_on().then(|| parts.metrics.leading());
        let _ = stop.run_until_cancelled(parts.rest.ended()).await;
        drop(led);
        let requested = Instant::now();
        let time = parts.scheduler.lease();
        let mut tx = parts.db.worker().await?;
        let epoch = store::lead(&mut tx, pool, me, time).await?;
        tx.commit().await?;
        if let Some(epoch) = epoch {
            let leader = Leader { parts, pool, epoch };
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
        if !parts.rest.is_on() {
            let _ = stop.run_until_cancelled(sleep(time / 3)).await;
        }
    }
    Ok(())
}

impl Leader<'_> {
    /// Schedules until there is a later leader, or the pool is gone. After any failure the pool is loaded
    /// again, as it may contain changes that were not stored.
    async fn lead(&self) -> anyhow::Result<()> {
        let (tell, wanted) = watch::channel(Vec::new());
        tokio::select! {
            ended = Box::pin(self.schedule(wanted)) => ended,
            failed = returns::follow(self.parts, self.pool, &tell) => Ok(failed?),
            ended = Box::pin(moves::follow(self)) => ended,
            () = self.parts.rest.begun() => Ok(()),
        }
    }

    async fn schedule(&self, mut wanted: watch::Receiver<Vec<WantedBack>>) -> anyhow::Result<()> {
        budget::read_in_time(&self.parts.budget).await;
        let mut leading = self.parts.metrics.leading();
        while let Some(loaded) = self.load().await? {
            tracing::info!(pool.id = %self.pool, epoch = self.epoch, jobs = loaded.jobs, "leading a pool");
            if !self.schedule_until_stale(loaded, &mut leading, &mut wanted).await? {
                break;
            }
        }
        Ok(())
    }

    async fn load(&self) -> sqlx::Result<Option<LoadedPool>> {
        let mut tx = self.parts.db.worker().await?;
        let keep_warm = keep_warm(self.parts.fleet.as_deref());
        LoadedPool::load(&mut tx, self.pool, (self.parts.clock)(), keep_warm).await
    }

    /// Schedules until the pool has to be loaded again. False if there is a later leader.
    async fn schedule_until_stale(
        &self,
        mut loaded: LoadedPool,
        leading: &mut Leading,
        wanted: &mut watch::Receiver<Vec<WantedBack>>,
    ) -> anyhow::Result<bool> {
        let (parts, config) = (self.parts, &self.parts.scheduler);
        let mut submitted = parts.submitted.subscribe();
        let (mut looked, mut stored) = (None::<Instant>, Instant::now());
        loop {
            submitted.mark_unchanged();
            if looked.is_none_or(|at| at.elapsed() >= HEARTBEATS) {
                looked = Some(Instant::now());
                if !Box::pin(self.look_after_workers(&mut loaded)).await? {
                    return Ok(false);
                }
                if !self.mark_holds(&mut loaded).await? {
                    return Ok(false);
                }
                leading.below_guarantee(loaded.pool.below_guarantee());
            }
            let mut tx = parts.db.worker().await?;
            let is_current = loaded.follow(&mut tx, millis((parts.clock)())).await?;
            drop(tx);
            if loaded.is_stale {
                return self.store_accounts(&mut loaded).await;
            }
            if !is_current {
                continue;
            }
            // its sender lives as long as this
            if wanted.has_changed().unwrap_or(false) {
                let wanted = wanted.borrow_and_update().clone();
                loaded.return_units(wanted, millis((parts.clock)()))?;
            }
            if !self.round(&mut loaded).await? {
                return Ok(false);
            }
            if stored.elapsed() >= ACCOUNTS {
                stored = Instant::now();
                if !self.store_accounts(&mut loaded).await? {
                    return Ok(false);
                }
                let mut tx = parts.db.worker().await?;
                loaded.compare_models(&mut tx).await?;
            }
            // the sender lives as long as the state
            let _ = timeout(config.poll(), submitted.changed()).await;
        }
    }

    /// Ends the sessions of lost workers, cordons those that are silent, drained or on failing nodes, stops
    /// jobs that have reached their cost limit, and stores how many workers are wanted and the order in which
    /// lent ones are recalled. False if there is a later leader.
    async fn look_after_workers(&self, loaded: &mut LoadedPool) -> anyhow::Result<bool> {
        let (parts, config) = (self.parts, &self.parts.scheduler);
        let mut tx = parts.db.worker().await?;
        let closed = closed::find(&mut tx, self.pool, config).await?;
        let lost = lost::find(&mut tx, self.pool, config).await?;
        let over_cost = store::over_cost(&mut tx, self.pool).await?;
        fleet::set_wanted(&mut tx, self.pool, self.epoch, loaded.wanted()).await?;
        let ranks = loaded.changed_ranks(millis((parts.clock)()));
        if !ranks.is_empty() {
            fleet::set_ranks(&mut tx, &ranks).await?;
        }
        tx.commit().await?;
        loaded.ranks.extend(ranks);
        self.tell_cordoned(loaded, closed.nodes);
        if !lost.is_empty() {
            let Some(mut tx) = self.fenced().await? else { return Ok(false) };
            let ended = lost::end_sessions(&mut tx, &lost, config, (parts.clock)()).await?;
            tx.commit().await?;
            (0..ended).for_each(|_| parts.metrics.worker_lost());
        }
        if !over_cost.is_empty() && !Box::pin(self.stop(over_cost)).await? {
            return Ok(false);
        }
        loaded.cordon(closed.workers, millis((parts.clock)())).context("silent workers")?;
        Ok(true)
    }

    /// Stores for each queued job whether it may start. False if there is a later leader.
    async fn mark_holds(&self, loaded: &mut LoadedPool) -> anyhow::Result<bool> {
        let jobs: BTreeSet<JobId> = loaded.unmarked.iter().copied().take(MARKED).collect();
        if jobs.is_empty() {
            return Ok(true);
        }
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        store::mark_holds(&mut tx, &jobs.iter().copied().collect::<Vec<_>>()).await?;
        tx.commit().await?;
        loaded.unmarked.retain(|job| !jobs.contains(job));
        Ok(true)
    }

    /// Counts nodes that get no jobs from now on.
    fn tell_cordoned(&self, loaded: &mut LoadedPool, nodes: BTreeSet<String>) {
        for node in nodes.difference(&loaded.failing_nodes) {
            tracing::warn!(pool.id = %self.pool, node, "workers of a node are lost again and again; it gets no jobs");
            self.parts.metrics.node_cordoned();
        }
        loaded.failing_nodes = nodes;
    }

    /// Tells the attempts of these jobs to leave. False if there is a later leader.
    async fn stop(&self, jobs: Vec<JobId>) -> anyhow::Result<bool> {
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        for job in jobs {
            store::tell_to_leave(&mut tx, job, self.parts.scheduler.leave()).await?;
        }
        tx.commit().await?;
        self.parts.assigned.send_replace(());
        Ok(true)
    }

    /// One round of decisions. False if there is a later leader.
    async fn round(&self, loaded: &mut LoadedPool) -> anyhow::Result<bool> {
        let parts = self.parts;
        let now = millis((parts.clock)());
        let decisions = loaded.pool.round(now);
        if decisions.is_empty() {
            return Ok(true);
        }
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        let leave = parts.scheduler.leave();
        let done = carry_out(&mut tx, loaded, &decisions, leave, now).await?;
        tx.commit().await?;
        parts.assigned.send_replace(());
        for (level, seconds) in done.waits {
            parts.metrics.waited(level, seconds);
        }
        parts.metrics.unpriced(done.unpriced);
        if !done.dropped_jobs.is_empty() {
            let mut tx = parts.db.worker().await?;
            loaded.compare(&mut tx, &done.dropped_jobs, &done.dropped_workers, now).await?;
        }
        Ok(true)
    }

    /// Stores the changes of use and slices. False if there is a later leader.
    async fn store_accounts(&self, loaded: &mut LoadedPool) -> anyhow::Result<bool> {
        let accounts = loaded.accounts();
        if accounts == loaded.stored {
            return Ok(true);
        }
        let Some(mut tx) = self.fenced().await? else { return Ok(false) };
        store::put_uses(&mut tx, self.pool, &accounts.uses).await?;
        store::put_slices(&mut tx, &accounts.slices).await?;
        tx.commit().await?;
        loaded.stored = accounts;
        Ok(true)
    }
}

/// How long a lent worker may be idle.
fn keep_warm(fleet: Option<&FleetConfig>) -> Millis {
    let idle = fleet.map(FleetConfig::idle).unwrap_or_default();
    Millis::try_from(idle.as_millis()).unwrap_or(Millis::MAX)
}
