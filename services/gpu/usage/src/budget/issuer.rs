//! Evaluates budgets: writes the events of steps, issues the tenant's allowance, and stops running instances
//! when all is spent.
//!
//! A budget is due when its next step is reached at the present rate. A trigger makes it due when a run of its tenant
//! begins, ends or is corrected. Each evaluation is one transaction, which other replicas and starts wait for.

use std::time::Duration;

use db::{
    Db,
    queue::{Leased, Outcome, Queue, Settings},
};
use gpu_core::{
    budget::{Allowance, Evaluation, ISSUER, Month, evaluate},
    event::By,
    instance::{Instance, InstanceState},
};
use ids::TenantId;
use instances::{event, instance};
use jiff::{SignedDuration, Timestamp};
use service::{Metrics, Task};
use sqlx::PgConnection;

use super::config::BudgetsConfig;
use super::{
    metrics::BudgetMetrics,
    store::{self, Budget},
};
use crate::quota;

/// Instances that are stopped in one transaction.
const BATCH: i64 = 100;
/// Maximum number of budgets evaluated at the same time.
const CONCURRENCY: usize = 8;

/// Evaluates the budget of a tenant, if it has one, in the caller's transaction.
pub(super) async fn evaluate_budget(
    conn: &mut PgConnection,
    tenant: TenantId,
    config: BudgetsConfig,
    now: Timestamp,
) -> sqlx::Result<Option<Evaluation>> {
    // before everything: starts that have read the allowance end first
    quota::lock_use(conn, tenant).await?;
    let Some(budget) = store::find(conn, tenant).await? else { return Ok(None) };
    let Budget { terms, progress, .. } = budget;
    let spending = store::spending(conn, tenant, &terms.currency, Month::of(now), now).await?;
    let evaluation = evaluate(&terms, &progress, &spending, config.times());
    issue(conn, tenant, evaluation.allowance.as_ref()).await?;
    if evaluation.progress != progress {
        store::advance(conn, tenant, &evaluation.progress).await?;
    }
    // last, as it locks the log
    event::store::append(conn, tenant, None, &By::system(), &evaluation.log).await?;
    Ok(Some(evaluation))
}

/// Issues the allowance if it differs from the current one.
pub(super) async fn issue(
    conn: &mut PgConnection,
    tenant: TenantId,
    allowance: Option<&Allowance>,
) -> sqlx::Result<()> {
    let before = store::allowances(conn, tenant).await?.into_iter().find(|known| known.issuer == ISSUER);
    match (before, allowance) {
        (None, None) => Ok(()),
        (Some(_), None) => store::withdraw(conn, tenant, ISSUER).await,
        (before, Some(allowance)) => {
            let version = before.as_ref().map_or(0, |before| before.version);
            let unchanged = Allowance { version, ..allowance.clone() };
            if before.as_ref() == Some(&unchanged) {
                return Ok(());
            }
            store::issue(conn, tenant, &Allowance { version: version + 1, ..unchanged }).await
        }
    }
}

/// Returns whether the tenant's budget stops its instances, until the transaction ends.
async fn is_stopped(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<bool> {
    quota::lock_use(conn, tenant).await?;
    let budget = store::find(conn, tenant).await?;
    Ok(budget.is_some_and(|budget| budget.progress.stopped_at.is_some()))
}

/// Reconciles budgets. Clones share connections.
#[derive(Clone)]
pub struct Issuer {
    db: Db,
    queue: Queue<TenantId>,
    config: BudgetsConfig,
    clock: fn() -> Timestamp,
    metrics: BudgetMetrics,
}

impl Issuer {
    /// Returns the issuer of allowances. [`Issuer::tasks`] do it.
    pub fn new(db: &Db, config: BudgetsConfig, clock: fn() -> Timestamp, metrics: &Metrics) -> Self {
        let settings =
            Settings { concurrency: CONCURRENCY, lane_concurrency: CONCURRENCY, ..Settings::default() };
        let queue = Queue::new(db, store::QUEUE, settings, metrics);
        let own = BudgetMetrics::default();
        own.register(metrics);
        Self { db: db.clone(), queue, config, clock, metrics: own }
    }

    /// The tasks of the queue of budgets.
    pub fn tasks(&self) -> [Task; 2] {
        let issuer = self.clone();
        self.queue.tasks("budgets", move |leased| {
            let issuer = issuer.clone();
            async move { Box::pin(issuer.reconcile(leased)).await }
        })
    }

    /// Reconciles a budget, due or not. Returns false if another worker has leased it.
    pub async fn reconcile_once(&self, tenant: TenantId) -> anyhow::Result<bool> {
        let Some(leased) = self.queue.lease(tenant).await? else { return Ok(false) };
        let after = match self.reconcile(leased).await? {
            Outcome::RequeueAfter(after) => Some(after),
            Outcome::Done | Outcome::Released => None,
        };
        let mut tx = self.db.worker().await?;
        leased.release(&mut tx, after).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Evaluates a tenant's budget once, and stops its instances if the whole amount is spent.
    async fn reconcile(&self, leased: Leased<TenantId>) -> anyhow::Result<Outcome> {
        let (tenant, now) = (leased.key, (self.clock)());
        let mut tx = self.db.worker().await?;
        let Some(evaluation) = evaluate_budget(&mut tx, tenant, self.config, now).await? else {
            return Ok(Outcome::Done);
        };
        tx.commit().await?;
        self.metrics.logged(&evaluation.log);
        let mut due_at = evaluation.due_at;
        if let Some(stopped_at) = evaluation.progress.stopped_at {
            let hold_deadline = stopped_at.checked_add(self.config.stop_grace())?;
            if let Some(deadline) = self.stop(tenant, hold_deadline).await? {
                due_at = due_at.min(deadline);
            }
        }
        let after = Duration::try_from(due_at.duration_since(now).max(SignedDuration::ZERO))?;
        Ok(Outcome::RequeueAfter(after))
    }

    /// Stops the tenant's instances: those that wait, those that run, and once nothing runs, or the time is
    /// over, gives up holds. Returns the latest time at which to check holds again, if they are kept until
    /// then.
    ///
    /// Each transaction locks instances first, as starts do, and then sees whether the stop still holds.
    async fn stop(&self, tenant: TenantId, hold_deadline: Timestamp) -> anyhow::Result<Option<Timestamp>> {
        use InstanceState::{Pending, Running, Starting};
        for states in [&[Pending][..], &[Starting, Running]] {
            loop {
                let mut tx = self.db.worker().await?;
                let instances = instance::store::lock_in(&mut tx, tenant, states, BATCH).await?;
                let is_last = instances.len() < BATCH.unsigned_abs() as usize;
                if !is_stopped(&mut tx, tenant).await? {
                    return Ok(None);
                }
                self.stop_all(&mut tx, instances).await?;
                tx.commit().await?;
                if is_last {
                    break;
                }
            }
        }
        loop {
            let mut tx = self.db.worker().await?;
            let now = (self.clock)();
            let holding = instance::store::lock_held(&mut tx, tenant, BATCH).await?;
            if holding.is_empty() || !is_stopped(&mut tx, tenant).await? {
                return Ok(None);
            }
            if now < hold_deadline && store::has_running(&mut tx, tenant).await? {
                // the end of each run wakes this budget
                return Ok(Some(hold_deadline));
            }
            self.stop_all(&mut tx, holding).await?;
            tx.commit().await?;
        }
    }

    async fn stop_all(&self, conn: &mut PgConnection, instances: Vec<Instance>) -> anyhow::Result<()> {
        let count = instances.len();
        for mut instance in instances {
            instance::end::stop_by_budget(conn, &mut instance, (self.clock)()).await?;
        }
        self.metrics.stopped(count);
        Ok(())
    }
}
