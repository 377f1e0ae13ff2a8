//! Reconciles an instance: decide, carry out one step, decide again, until only waiting is left.
//!
//! What the cluster reports is recorded in memory, and stored before the next call and at the end: no
//! transaction is open during a call, and a reconcile without a call is one transaction. An interrupted
//! reconcile is continued by the next one, which decides from what is stored and observed then.

use std::{sync::Arc, time::Duration};

use clusters::Clusters;
use db::{
    Db, Tx,
    queue::{Leased, Outcome},
};
use encryption::Cipher;
use gpu_core::{
    claim::{Claim, Displaced},
    event::By,
    instance::{
        Action, Effects, Event, Failure, Instance, InstanceState, State, Step, Unexpected, decide,
        unreachable_cluster,
    },
    reason::{Reason, ReasonCode},
    unit::Observation,
};
use ids::InstanceId;
use instances::instance::{end, store};
use jiff::{SignedDuration, Timestamp};
use operations::Requests;
use service::{Metrics, Tracer};
use usage::{
    budget::{self, Admission, BudgetsConfig},
    quota,
};

use super::{
    actions::{Actions, Blocked, blocked_write, internal_error},
    fault::{Faults, Point, inject},
    starts::{self, Starts},
    values::Values,
};
use crate::order::OrderConfig;

/// How long the first call to the cluster of a new unit may take. The row was leased before it had a unit, in
/// the lane that the starts of all clusters share, so a slower call is repeated in the cluster's own lane.
const FIRST_CALL: Duration = Duration::from_millis(500);
/// How long a due reconcile waits for the cluster's answer, where it can use the last observation instead.
const CONFIRMATION: Duration = Duration::from_secs(2);
/// How long a step that needs the cluster's answer waits for it.
const NEEDED_CONFIRMATION: Duration = Duration::from_secs(8);
/// Time until an instance that waits for an event is reconciled without one, in case the event was lost.
const WAITING: Duration = Duration::from_secs(20);
/// The same for a queued instance. Thousands may wait, and each reconcile costs a call of the stock service.
/// Grants are kept for a day, so none is lost unless the stock service's database is restored from a backup.
const QUEUED: Duration = Duration::from_secs(600);
/// The same for a running instance.
const RUNNING: Duration = Duration::from_secs(300);
/// The same for a running instance that may lose its unit: its claim is confirmed, too.
const INTERRUPTIBLE: Duration = Duration::from_secs(60);
/// Time for which an instance that has lost its unit stays in it, if the stock service returned no time.
const RECALL: SignedDuration = SignedDuration::from_secs(15);
/// Time after the end when delayed calls can have no effect any more, and what they left is released.
const LEFTOVERS: Duration = Duration::from_secs(60);
/// Steps of one reconcile. More are an error in this service.
const MAX_STEPS: usize = 64;
/// Instances read at a time.
const BATCH: usize = 500;
/// The instance is read again at once: a command has changed it, or it belongs to another lane.
const OVERTAKEN: Outcome = Outcome::RequeueAfter(Duration::ZERO);

/// Reconciles instances. Clones share connections.
#[derive(Clone)]
pub struct Reconciler {
    db: Db,
    pub(super) clusters: Clusters,
    actions: Actions,
    budgets: BudgetsConfig,
    clock: fn() -> Timestamp,
    tracer: Tracer,
    starts: Starts,
}

/// An instance with changes that are not stored yet.
struct Draft {
    stored: Instance,
    instance: Instance,
    effects: Effects,
    /// Starts that have ended with what is written.
    started: Vec<starts::Outcome>,
}

impl Draft {
    fn new(stored: Instance) -> Self {
        Self { instance: stored.clone(), stored, effects: Effects::default(), started: Vec::new() }
    }

    fn record(&mut self, event: Event) -> Result<(), Unexpected> {
        self.effects.extend(self.instance.on(event)?);
        Ok(())
    }

    fn is_changed(&self) -> bool {
        self.instance != self.stored || self.effects != Effects::default()
    }

    /// Writes the changes. Returns false if the stored instance is not the one that was read.
    async fn write(&mut self, tx: &mut Tx, now: Timestamp) -> sqlx::Result<bool> {
        let _span = traces::db("db.instance.advance");
        if !store::advance(tx, &self.stored, &mut self.instance, &self.effects, &By::system()).await? {
            return Ok(false);
        }
        let before = std::mem::replace(&mut self.stored, self.instance.clone());
        self.effects = Effects::default();
        if let Some(requested) = starts::requested(&before) {
            self.started.extend(starts::outcome(&before, &self.instance, requested, now));
        }
        let (from, to) = (InstanceState::from(&before.state), InstanceState::from(&self.instance.state));
        if from != to {
            tracing::info!(
                instance.id = %before.id, tenant.id = %before.tenant, from = from.as_str(), to = to.as_str(),
                reason = ?self.instance.state.reason().map(|reason| reason.code), "instance changed"
            );
        }
        Ok(true)
    }
}

impl Reconciler {
    /// A reconciler.
    pub fn new(
        db: Db,
        clusters: Clusters,
        stock: stock_api::Client,
        storage: storage_api::Client,
        cipher: Arc<Cipher>,
        config: &OrderConfig,
        clock: fn() -> Timestamp,
    ) -> Self {
        let actions = Actions {
            clusters: clusters.clone(),
            stock,
            storage,
            secrets: Values::new(db.clone(), cipher),
            apps: Arc::new(config.apps.clone()),
            faults: None,
        };
        Self {
            db,
            clusters,
            actions,
            budgets: config.budgets,
            clock,
            tracer: Tracer::default(),
            starts: Starts::default(),
        }
    }

    /// With spans.
    #[must_use]
    pub fn with_tracer(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// With a count of starts in the metrics.
    #[must_use]
    pub fn with_metrics(mut self, metrics: &Metrics) -> Self {
        self.starts = Starts::register(metrics);
        self
    }

    /// With faults, for a test.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.actions.faults = Some(faults);
        self
    }

    /// Returns those of the instances that have something to do, by what the clusters report now.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn affected(&self, ids: &[InstanceId]) -> sqlx::Result<Vec<InstanceId>> {
        let mut affected = Vec::new();
        for ids in ids.chunks(BATCH) {
            let mut tx = self.db.worker().await?;
            let instances = store::read_all(&mut tx, ids).await?;
            tx.commit().await?;
            affected.extend(instances.into_iter().filter_map(|mut instance| {
                let has_work = match self.decide(&instance, false) {
                    Step::Wait(reason) => instance.state.set_reason(reason),
                    Step::Record(_) | Step::Act(_) => true,
                };
                has_work.then_some(instance.id)
            }));
        }
        Ok(affected)
    }

    /// Carries out every step that is possible now.
    ///
    /// # Errors
    /// If a step did not complete; it has to be retried.
    pub async fn reconcile(&self, leased: Leased<InstanceId>) -> anyhow::Result<Outcome> {
        let Some((stored, requests)) = self.read(leased.key).await? else { return Ok(Outcome::Done) };
        let mut span = self.tracer.reconcile("reconcile instance", requests.asked);
        requests.before.into_iter().for_each(|before| span.link(before));
        span.set("atelier.instance.id", &leased.key);
        span.run(Box::pin(self.carry_out(stored, leased))).await
    }

    async fn carry_out(&self, stored: Instance, leased: Leased<InstanceId>) -> anyhow::Result<Outcome> {
        let had_unit = stored.state.unit().is_some();
        let mut draft = Draft::new(stored);
        if leased.due && self.has_lost_claim(&draft.instance).await {
            draft.record(Event::Recalled((self.clock)() + RECALL))?;
        }
        let mut leftovers_released = false;
        for nth in 0..MAX_STEPS {
            let step = match self.next_step(&draft.instance, leased.due && nth == 0).await {
                Ok(step) => step,
                Err(blocked) => return self.block(draft, blocked).await,
            };
            tracing::debug!(instance.id = %leased.key, ?step, "step");
            let event = match step {
                Step::Wait(Some(reason))
                    if reason.code == ReasonCode::UnitOccupied && self.is_vacated(&draft.instance) =>
                {
                    None
                }
                Step::Wait(reason) => {
                    draft.instance.state.set_reason(reason);
                    let after = requeue_after(&draft.instance, leftovers_released, (self.clock)());
                    return self.store_and_release(&mut draft, leased, after).await;
                }
                Step::Record(event) => Some(event),
                Step::Act(action) => {
                    if !self.store(&mut draft).await? {
                        return Ok(OVERTAKEN);
                    }
                    leftovers_released = action == Action::ReleaseLeftovers;
                    let is_first_call = matches!(action, Action::Apply | Action::WriteSecret(_)) && !had_unit;
                    let limit = if is_first_call { FIRST_CALL } else { Duration::MAX };
                    let run = self.actions.run(&draft.instance, action, (self.clock)());
                    match tokio::time::timeout(limit, run).await {
                        Err(_) => return Ok(OVERTAKEN),
                        Ok(Ok(Some(Event::Claimed(claim)))) => {
                            if !self.store_claim(&mut draft, claim).await? {
                                return Ok(OVERTAKEN);
                            }
                            None
                        }
                        Ok(Ok(event)) => event,
                        Ok(Err(blocked)) => return self.block(draft, blocked).await,
                    }
                }
            };
            if let Some(Err(unexpected)) = event.map(|event| draft.record(event)) {
                let blocked = Blocked { reason: internal_error(), cause: unexpected.into() };
                return self.block(draft, blocked).await;
            }
        }
        anyhow::bail!("no end after {MAX_STEPS} steps")
    }

    /// Whether an interruptible instance has lost its unit, and this service crashed before it recorded that.
    async fn has_lost_claim(&self, instance: &Instance) -> bool {
        instance.can_be_recalled()
            && tokio::time::timeout(CONFIRMATION, self.actions.has_lost_claim(instance))
                .await
                .unwrap_or(false)
    }

    /// Returns whether no instance is in the unit. Otherwise, the instance is reconciled once the unit is
    /// free.
    fn is_vacated(&self, instance: &Instance) -> bool {
        let Some(unit) = instance.state.unit() else { return false };
        self.clusters.get(&unit.cluster).is_some_and(|cluster| cluster.is_vacated(&unit.name, instance.id))
    }

    fn decide(&self, instance: &Instance, due: bool) -> Step {
        let own = instance.state.unit();
        let observation = own.map_or(Observation::Unknown, |unit| self.clusters.observation(unit));
        decide(instance, &observation, &self.clusters.unclaimed(instance.id, own), due, (self.clock)())
    }

    async fn next_step(&self, instance: &Instance, due: bool) -> Result<Step, Blocked> {
        let step = self.decide(instance, due);
        if step.needs_confirmation() {
            let confirmed = tokio::time::timeout(NEEDED_CONFIRMATION, self.confirm(instance, step)).await;
            return confirmed.unwrap_or_else(|elapsed| {
                Err(Blocked { reason: unreachable_cluster(), cause: anyhow::Error::new(elapsed) })
            });
        }
        if due && let Step::Wait(_) = step {
            // the watch may have missed an event
            let confirmed = tokio::time::timeout(CONFIRMATION, self.confirm(instance, step.clone())).await;
            return Ok(confirmed.ok().and_then(Result::ok).unwrap_or(step));
        }
        Ok(step)
    }

    /// Decides again on a fresh answer of the cluster. Returns `step` if the instance has no unit to ask for.
    async fn confirm(&self, instance: &Instance, step: Step) -> Result<Step, Blocked> {
        let Some(unit) = instance.state.unit() else { return Ok(step) };
        let Some(cluster) = self.clusters.get(&unit.cluster) else { return Ok(step) };
        let observation = match Box::pin(cluster.fetch(&unit.name)).await {
            Ok(Some(unit)) => Observation::Unit(unit),
            Ok(None) => Observation::Gone,
            Err(error) => return Err(blocked_write(&error)),
        };
        Ok(decide(instance, &observation, &[], false, (self.clock)()))
    }

    /// Returns an instance, and the requests behind its open operation.
    async fn read(&self, id: InstanceId) -> sqlx::Result<Option<(Instance, Requests)>> {
        let mut tx = self.db.worker().await?;
        let Some(instance) = store::read(&mut tx, id).await? else { return Ok(None) };
        let requests = match self.tracer.is_on() {
            true => operations::requests(&mut tx, instance.operation.id).await?,
            false => Requests::default(),
        };
        tx.commit().await?;
        Ok(Some((instance, requests)))
    }

    async fn commit(&self, tx: Tx, draft: &mut Draft) -> sqlx::Result<()> {
        tx.commit().await?;
        draft.started.drain(..).for_each(|outcome| self.starts.count(outcome));
        // after a commit, no fault is an error
        let _ = inject(self.actions.faults.as_ref(), Point::Committed).await;
        Ok(())
    }

    /// Stores the changes. Returns false, and stores nothing, if a command has changed the instance.
    async fn store(&self, draft: &mut Draft) -> sqlx::Result<bool> {
        if !draft.is_changed() {
            return Ok(true);
        }
        let mut tx = self.db.worker().await?;
        let stored = draft.write(&mut tx, (self.clock)()).await?;
        self.commit(tx, draft).await?;
        Ok(stored)
    }

    /// Stores a claim, if the tenant's limits and its budget allow the instance at the price of the unit; otherwise, in the same
    /// transaction, that the start has failed. Returns false, and stores nothing, if a command has changed the instance.
    ///
    /// In the same transaction, the interruptible instance that had the unit is recalled.
    async fn store_claim(&self, draft: &mut Draft, mut claim: Claim) -> anyhow::Result<bool> {
        let mut tx = self.db.worker().await?;
        let mut displaced = match claim.displaced.take() {
            Some(Displaced { instance, leave_by }) => {
                store::lock_any(&mut tx, instance).await?.map(|displaced| (displaced, leave_by))
            }
            None => None,
        };
        let before = draft.instance.clone();
        draft.record(Event::Claimed(claim))?;
        let exceeded = quota::check(&mut tx, &draft.instance, false).await?;
        let refused = match exceeded {
            Some(exceeded) => {
                Some((ReasonCode::QuotaExceeded, exceeded.to_string(), quota::problem(exceeded)))
            }
            None => {
                let admission = Admission { now: (self.clock)(), grace: self.budgets.outage_grace() };
                let refused = admission.check_start(&mut tx, &draft.instance).await?;
                refused.map(|refused| (refused.reason(), refused.to_string(), budget::problem(refused)))
            }
        };
        if let Some((code, message, problem)) = refused {
            draft.instance = before;
            draft.effects = Effects::default();
            let reason = Reason::new(code, message);
            let problem = Some(Box::new(problem.into()));
            draft.record(Event::Failed(Failure { problem, ..Failure::new(reason) }))?;
        }
        // each write locks the event log of a tenant: always in the order of tenants
        let is_first = |(displaced, _): &mut (Instance, Timestamp)| displaced.tenant < draft.instance.tenant;
        if let Some((mut displaced, leave_by)) = displaced.take_if(is_first) {
            end::recall(&mut tx, &mut displaced, leave_by).await?;
        }
        let stored = draft.write(&mut tx, (self.clock)()).await?;
        if let Some((mut displaced, leave_by)) = displaced {
            end::recall(&mut tx, &mut displaced, leave_by).await?;
        }
        self.commit(tx, draft).await?;
        Ok(stored)
    }

    /// Stores the changes and releases the lease, in one transaction.
    async fn store_and_release(
        &self,
        draft: &mut Draft,
        leased: Leased<InstanceId>,
        after: Option<Duration>,
    ) -> anyhow::Result<Outcome> {
        if !draft.is_changed() {
            return Ok(after.map_or(Outcome::Done, Outcome::RequeueAfter));
        }
        let mut tx = self.db.worker().await?;
        if !draft.write(&mut tx, (self.clock)()).await? {
            return Ok(OVERTAKEN);
        }
        anyhow::ensure!(leased.release(&mut tx, after).await?, "lease lost");
        self.commit(tx, draft).await?;
        Ok(Outcome::Released)
    }

    /// Stores what the instance waits for. Returns the cause as an error: the queue retries with backoff.
    async fn block(&self, mut draft: Draft, blocked: Blocked) -> anyhow::Result<Outcome> {
        draft.instance.state.set_reason(Some(blocked.reason));
        self.store(&mut draft).await?;
        Err(blocked.cause)
    }
}

/// Time until the instance is reconciled without an event; none for never.
fn requeue_after(instance: &Instance, leftovers_released: bool, now: Timestamp) -> Option<Duration> {
    if let (Some(leave_by), State::Starting { .. } | State::Running { .. }) =
        (instance.leave_by, &instance.state)
    {
        return Some(Duration::try_from(leave_by.duration_since(now)).unwrap_or_default());
    }
    match &instance.state {
        // at the end of the hold
        State::Stopped { hold: Some(hold), .. } => {
            Some(Duration::try_from(hold.until.duration_since(now)).unwrap_or_default())
        }
        State::Pending { .. } if instance.is_queued() => Some(QUEUED),
        State::Running { .. } if instance.order.interruptible => Some(INTERRUPTIBLE),
        State::Running { .. } => Some(RUNNING),
        State::Stopped { .. } | State::Deleted if leftovers_released => None,
        State::Stopped { .. } | State::Deleted => Some(LEFTOVERS),
        _ => Some(WAITING),
    }
}
