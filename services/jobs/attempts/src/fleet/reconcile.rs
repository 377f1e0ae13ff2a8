//! The rounds: decide how many workers each pool has, order and delete instances, and follow them. No call of
//! the gpu service is made in a transaction.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use api::ErrorChain;
use gpu_api::{EnvVar, InstanceState, ManagedInstance, ManagedOrder, Recall, Secret};
use ids::{PoolId, WorkerId};
use jiff::SignedDuration;
use jobs_core::{
    attempt::Policy,
    fleet,
    worker::{Tenure, WorkerStage, WorkerState},
};
use records::worker::{self, hash, store::lock, token};
use secrecy::{ExposeSecret as _, SecretString};
use service::Round;

use super::{
    FleetConfig, Parts, rank,
    store::{self, Due, NewWorker, Order},
};
use crate::session::{EndCause, end_session};

/// Time in which the process that has the token of a worker repeats the order of its instance. Then it is given up.
const ORDER_TIME: Duration = Duration::from_secs(60);
/// The row of a worker is kept for this long after the order, in case a delayed call still arrives.
const LATE: SignedDuration = SignedDuration::from_secs(180);
/// How often the stock is asked for spare units while a pool has too few workers.
const LEND_PERIOD: Duration = Duration::from_secs(5);
/// Problem of a worker that has not registered in time.
const SILENT: &str = "Its instance runs, and no process of a worker has registered.";
/// Workers that are compared with their instances in a round.
const BATCH: u32 = 50;

/// The reconciler of all pools, in this process. Clones share the tokens.
#[derive(Clone)]
pub struct Fleets {
    parts: Parts,
    /// Tokens of workers whose instances are ordered. They are stored nowhere else: when the process ends,
    /// other replicas delete what it may have ordered, and order anew.
    tokens: Arc<Mutex<HashMap<WorkerId, SecretString>>>,
}

impl Fleets {
    pub fn new(parts: &Parts) -> Self {
        Self { parts: parts.clone(), tokens: Arc::default() }
    }

    /// One round.
    pub async fn round(&self) -> anyhow::Result<Round> {
        let Some(config) = &self.parts.config else { return Ok(Round::Done) };
        let mut tx = self.parts.db.worker().await?;
        let pools = store::pools(&mut tx).await?;
        drop(tx);
        for pool in pools {
            self.decide(pool, config).await.with_context(|| pool.to_string())?;
        }
        let waiting: Vec<WorkerId> = self.tokens().keys().copied().collect();
        for worker in waiting {
            self.order(worker, config).await.context("order of a worker")?;
        }
        let mut tx = self.parts.db.worker().await?;
        let due = store::take_due(&mut tx, BATCH.into()).await?;
        if due.is_empty() {
            drop(tx);
        } else {
            tx.commit().await?;
        }
        for worker in &due {
            self.follow(worker, config).await.with_context(|| worker.id.to_string())?;
        }
        rank::tell(&self.parts).await.context("ranks of lent workers")?;
        Ok(Round::of(due.len() as u64, BATCH.into()))
    }

    fn tokens(&self) -> std::sync::MutexGuard<'_, HashMap<WorkerId, SecretString>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares a pool with its workers, and writes the changes.
    async fn decide(&self, pool: PoolId, config: &FleetConfig) -> anyhow::Result<()> {
        let mut tx = self.parts.db.worker().await?;
        let Some(fleet) = store::lock_pool(&mut tx, pool).await? else { return Ok(()) };
        let members = store::lock_members(&mut tx, pool).await?;
        let plan = fleet::plan(fleet.size, &members, config.idle());
        for worker in &plan.drain {
            tracing::info!(pool.id = %pool, worker.id = %worker, "draining a worker");
            worker::store::drain(&mut tx, *worker).await?;
        }
        for worker in &plan.leave {
            self.leave(&mut tx, *worker).await?;
        }
        let mut ordered = Vec::new();
        if let Some(new) = fleet.worker() {
            for _ in 0..plan.order {
                ordered.push(insert(&mut tx, pool, new).await?);
            }
        }
        let lends = plan.lend > 0 && fleet.may_lend && fleet.worker().is_some();
        if lends {
            store::delay_lending(&mut tx, pool, LEND_PERIOD).await?;
        }
        tx.commit().await?;
        self.tokens().extend(ordered);
        match &self.parts.stock {
            Some(stock) if lends => self.lend(pool, stock, config).await,
            _ => Ok(()),
        }
    }

    /// Orders workers on spare units, if there are any.
    async fn lend(
        &self,
        pool: PoolId,
        stock: &stock_api::Client,
        config: &FleetConfig,
    ) -> anyhow::Result<()> {
        let mut tx = self.parts.db.worker().await?;
        let Some(fleet) = store::lock_pool(&mut tx, pool).await? else { return Ok(()) };
        drop(tx);
        let mut spare = Vec::new();
        for gpu_spec in &fleet.gpu_specs {
            match stock.spare_units(gpu_spec).await {
                Ok(found) => spare.extend((0..found.units).map(|_| gpu_spec.as_str())),
                Err(error) => {
                    let cause = ErrorChain(&error);
                    tracing::warn!(pool.id = %pool, gpu_spec, %cause, "cannot ask for spare units");
                }
            }
        }
        let mut tx = self.parts.db.worker().await?;
        let Some(fleet) = store::lock_pool(&mut tx, pool).await? else { return Ok(()) };
        let Some(new) = fleet.worker() else { return Ok(()) };
        let members = store::lock_members(&mut tx, pool).await?;
        let plan = fleet::plan(fleet.size, &members, config.idle());
        let mut ordered = Vec::new();
        for gpu_spec in spare.into_iter().take(plan.lend as usize) {
            ordered.push(insert(&mut tx, pool, NewWorker { gpu_spec, tenure: Tenure::Lent, ..new }).await?);
        }
        tx.commit().await?;
        self.tokens().extend(ordered);
        Ok(())
    }

    /// Orders the instance of a worker; repeats the order if its result is unknown.
    async fn order(&self, worker: WorkerId, config: &FleetConfig) -> anyhow::Result<()> {
        let Some(token) = self.tokens().get(&worker).cloned() else { return Ok(()) };
        let mut tx = self.parts.db.worker().await?;
        let order = store::extend_order(&mut tx, worker, ORDER_TIME).await?;
        tx.commit().await?;
        let Some(order) = order else {
            self.tokens().remove(&worker);
            return Ok(());
        };
        let Some(gpu) = &self.parts.gpu else { return Ok(()) };
        let answer = gpu.put_instance(order.instance, &body(&order, token, config)).await;
        let mut tx = self.parts.db.worker().await?;
        match answer {
            Ok(_) => store::confirm(&mut tx, worker).await?,
            Err(peer::Error::Problem(problem)) if problem.status < 500 => {
                self.fail(&mut tx, order.pool, worker, &problem.detail).await?;
            }
            // the order is repeated in the next round
            Err(error) => return Err(error.into()),
        }
        tx.commit().await?;
        self.tokens().remove(&worker);
        Ok(())
    }

    /// Compares a worker with its instance.
    async fn follow(&self, worker: &Due, config: &FleetConfig) -> anyhow::Result<()> {
        let Some(gpu) = &self.parts.gpu else { return Ok(()) };
        match worker.stage {
            WorkerStage::Ordered => {
                // the process that ordered it has ended, and the token is lost
                let mut tx = self.parts.db.worker().await?;
                self.leave(&mut tx, worker.id).await?;
                tx.commit().await?;
            }
            WorkerStage::Placed | WorkerStage::Draining => {
                let found = match gpu.instance(worker.instance).await {
                    Err(error) if error.is_not_found() => None,
                    found => Some(found?),
                };
                self.compare(worker, found, config).await?;
            }
            WorkerStage::Leaving => {
                gpu.delete_instance(worker.instance).await?;
                let is_late = (self.parts.clock)().duration_since(worker.created_at) > LATE;
                let is_gone = match gpu.instance(worker.instance).await {
                    Err(error) if error.is_not_found() => true,
                    found => found.map(|_| false)?,
                };
                if is_gone && is_late {
                    let mut tx = self.parts.db.worker().await?;
                    store::delete(&mut tx, worker.id).await?;
                    tx.commit().await?;
                }
            }
        }
        Ok(())
    }

    async fn compare(
        &self,
        worker: &Due,
        instance: Option<ManagedInstance>,
        config: &FleetConfig,
    ) -> anyhow::Result<()> {
        let mut tx = self.parts.db.worker().await?;
        if let Some(Recall { leave_by }) = instance.as_ref().and_then(|instance| instance.recalled) {
            store::recall(&mut tx, worker.pool, worker.id, leave_by).await?;
        }
        match instance {
            Some(instance) if !matches!(instance.state, InstanceState::Stopped | InstanceState::Deleting) => {
                if let Some(node) = instance.node.filter(|node| *node != worker.node) {
                    store::set_node(&mut tx, worker.pool, worker.id, &node).await?;
                }
                match worker.silent {
                    _ if worker.state == WorkerState::Ready => {
                        store::forget_failures(&mut tx, worker.pool).await?;
                    }
                    Some(seconds) if seconds > config.silent().as_secs_f64() => {
                        self.fail(&mut tx, worker.pool, worker.id, SILENT).await?;
                    }
                    None if instance.state == InstanceState::Running => {
                        store::begin_silence(&mut tx, worker.id).await?;
                    }
                    _ => {}
                }
            }
            Some(ended) if ended.recalled.is_some() || is_taken(worker, &ended) => {
                self.leave(&mut tx, worker.id).await?;
            }
            ended => {
                let message = ended.and_then(|instance| instance.message);
                let message = message.as_deref().unwrap_or("Its instance was stopped or deleted.");
                self.fail(&mut tx, worker.pool, worker.id, message).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    /// Removes a worker that has failed. Another one is ordered after a delay.
    async fn fail(
        &self,
        conn: &mut sqlx::PgConnection,
        pool: PoolId,
        worker: WorkerId,
        message: &str,
    ) -> anyhow::Result<()> {
        tracing::warn!(pool.id = %pool, worker.id = %worker, message, "a worker has failed");
        // locks the pool first, like all transactions
        let failures = store::count_failure(conn, pool, message).await?;
        store::delay(conn, pool, fleet::delay(failures)).await?;
        Ok(self.leave(conn, worker).await?)
    }

    /// Ends the session of a worker, which loses what it runs, and lets its instance be deleted.
    async fn leave(&self, conn: &mut sqlx::PgConnection, worker: WorkerId) -> Result<(), worker::Error> {
        let Some(held) = lock(conn, worker).await? else { return Ok(()) };
        let policy = Policy::of(&self.parts.scheduler);
        let how = (EndCause::Unannounced, WorkerState::Offline);
        end_session(conn, &held, how, &policy, (self.parts.clock)()).await?;
        Ok(store::leave(conn, worker).await?)
    }
}

/// Whether the spare unit of a lent worker was taken before its instance could claim it.
fn is_taken(worker: &Due, ended: &ManagedInstance) -> bool {
    worker.tenure == Tenure::Lent && ended.reason.as_deref() == Some("stock_exhausted")
}

/// Inserts a worker to order. Returns its token.
async fn insert(
    conn: &mut sqlx::PgConnection,
    pool: PoolId,
    new: NewWorker<'_>,
) -> sqlx::Result<(WorkerId, SecretString)> {
    let (worker, token) = (WorkerId::new(), token());
    store::insert(conn, pool, worker, new, &hash(token.expose_secret()), ORDER_TIME).await?;
    let NewWorker { gpu_spec, tenure, .. } = new;
    tracing::info!(pool.id = %pool, worker.id = %worker, gpu_spec, ?tenure, "ordering a worker");
    Ok((worker, token))
}

fn body(order: &Order, token: SecretString, config: &FleetConfig) -> ManagedOrder {
    ManagedOrder {
        tenant_id: order.owner,
        name: Some(order.name.clone()),
        gpu_spec: order.gpu_spec.clone(),
        service: order.service.clone(),
        version: order.version.clone(),
        datacenter: None,
        env: vec![EnvVar { name: "ATELIER_JOBS_URL".to_owned(), value: config.jobs_url.to_string() }],
        secrets: vec![Secret { name: "ATELIER_WORKER_TOKEN".to_owned(), value: token }],
        wait: order.tenure == Tenure::Firm,
        interruptible: order.tenure == Tenure::Lent,
        reaches_peers: order.dedicated,
        // only dedicated pools can have `command.run`, now and later
        runs_tenant_code: order.dedicated,
    }
}
