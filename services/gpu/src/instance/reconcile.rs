//! Carrying out steps: compare, take one idempotent step, write it down, compare again.
//!
//! One replica at a time works on an instance (a lease in its row); no transaction is open during a call.
//! Whatever is cut off, at whatever instruction, the next look decides afresh from what is so.

use std::{sync::Arc, time::Duration};

use api::{ErrorChain, ProblemDetails, ProblemType};
use clients::{
    stock,
    storage::{self, StorageKind},
};
use db::Db;
use ids::InstanceId;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    decide::{Step, decide, new_runs},
    manifest,
    model::{Effects, Illegal, Instance, State},
    parts::{Attached, Failure, Why},
    store,
};
use crate::{
    cluster::{Clusters, Seen, WriteError},
    config::Apps,
};

/// A step that takes longer is given up and tried again later.
const STEP: Duration = Duration::from_secs(8);
/// How long a look that is due waits for the cluster's own word, where it can go by what was last heard.
const ASK: Duration = Duration::from_secs(2);
/// How long another replica waits for one that died.
const LEASE: Duration = Duration::from_secs(5);
/// Look again at what waits for an event, in case the event is lost.
const WAITING: Duration = Duration::from_secs(20);
/// Look again at what runs.
const RUNNING: Duration = Duration::from_secs(300);
/// After the end, when calls that were cut off can have no effect any more.
const SETTLING: Duration = Duration::from_secs(60);
/// How long a start waits for a storage that cannot be used yet.
const STORAGE_WAIT: SignedDuration = SignedDuration::from_secs(60);
/// Steps in one look; more is a mistake of ours that must not spin.
const MOST_STEPS: usize = 64;

/// How a look at an instance ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// There is none.
    Missing,
    /// Another replica is at it.
    Elsewhere,
    /// All is done that can be done until something happens.
    Done,
    /// A part of the platform did not do its part; try again later.
    Later {
        /// Which, for the log.
        cause: String,
    },
}

/// What became of a step.
enum Stepped {
    /// Something was written down, or done elsewhere: decide again.
    On,
    /// A command came in between: read again.
    Overtaken,
    /// Nothing to do until something happens.
    Rest,
    /// Try again later.
    Later(Why, String),
}

/// Makes instances be as they should.
#[derive(Clone)]
pub struct Reconciler {
    db: Db,
    clusters: Clusters,
    stock: stock::Client,
    storage: storage::Client,
    apps: Arc<Apps>,
    owner: Uuid,
}

impl Reconciler {
    /// A reconciler with an identity of its own for leases.
    #[must_use]
    pub fn new(
        db: Db,
        clusters: Clusters,
        stock: stock::Client,
        storage: storage::Client,
        apps: Arc<Apps>,
    ) -> Self {
        Self { db, clusters, stock, storage, apps, owner: Uuid::new_v4() }
    }

    /// Takes every step that can be taken for one instance now.
    ///
    /// # Errors
    /// The database's.
    pub async fn look(&self, id: InstanceId) -> sqlx::Result<Looked> {
        // most looks find nothing to do, and write nothing
        let Some((instance, due)) = self.peek(id).await? else { return Ok(Looked::Missing) };
        if let Step::Wait(why) = self.decide(&instance, due)
            && !due
            && !instance.clone().waits(why)
        {
            return Ok(Looked::Done);
        }
        let asked = Instant::now();
        if !self.lease(id).await? {
            return Ok(Looked::Elsewhere);
        }
        let work = Box::pin(self.work(id, due));
        db::lease::hold(asked, LEASE, || self.lease(id), work).await.unwrap_or(Ok(Looked::Elsewhere))
    }

    /// Takes the steps, under the lease, and gives it back.
    async fn work(&self, id: InstanceId, due: bool) -> sqlx::Result<Looked> {
        // the first look under the lease is at what another may have left
        let Some((mut instance, _)) = self.peek(id).await? else { return Ok(Looked::Missing) };
        let mut looked = Looked::Done;
        let mut settled = false;
        for nth in 0..MOST_STEPS {
            let due = due && nth == 0;
            let mut step = self.decide(&instance, due);
            if due && let Step::Wait(_) = step {
                step = self.asked(&instance, step).await;
            }
            tracing::debug!(instance.id = %id, state = instance.state.name(), ?step, "step");
            settled = step == Step::Settle;
            let stepped = tokio::time::timeout(STEP, Box::pin(self.take(&mut instance, step))).await;
            let Ok(stepped) = stepped else {
                // what was half changed in memory is forgotten
                let Some((newest, _)) = self.peek(id).await? else { return Ok(Looked::Missing) };
                instance = newest;
                looked = Looked::Later { cause: format!("a step took longer than {STEP:?}") };
                settled = false;
                break;
            };
            match stepped? {
                Stepped::On => {}
                Stepped::Overtaken => {
                    let Some((newest, _)) = self.peek(id).await? else { return Ok(Looked::Missing) };
                    instance = newest;
                }
                Stepped::Rest => break,
                Stepped::Later(why, cause) => {
                    settled = false;
                    let before = instance.clone();
                    if instance.waits(Some(why)) {
                        self.write(&before, &mut instance, &Effects::default()).await?;
                    }
                    looked = Looked::Later { cause };
                    break;
                }
            }
        }
        let again = match &instance.state {
            State::Running { .. } if looked == Looked::Done => Some(RUNNING),
            State::Stopped { .. } | State::Deleted if settled => None,
            State::Stopped { .. } | State::Deleted => Some(SETTLING),
            // events and, after a failure, the worker come sooner; this is for the case that they do not
            _ => Some(WAITING),
        };
        let mut tx = self.db.worker().await?;
        store::unlease(&mut tx, id, self.owner, again, instance.generation).await?;
        tx.commit().await?;
        Ok(looked)
    }

    async fn peek(&self, id: InstanceId) -> sqlx::Result<Option<(Instance, bool)>> {
        let mut tx = self.db.worker().await?;
        let found = store::peek(&mut tx, id).await?;
        tx.commit().await?;
        Ok(found)
    }

    async fn lease(&self, id: InstanceId) -> sqlx::Result<bool> {
        let mut tx = self.db.worker().await?;
        let mine = store::lease(&mut tx, id, self.owner, LEASE).await?;
        tx.commit().await?;
        Ok(mine)
    }

    async fn write(
        &self,
        before: &Instance,
        instance: &mut Instance,
        effects: &Effects,
    ) -> sqlx::Result<bool> {
        let mut tx = self.db.worker().await?;
        let written = store::advance(&mut tx, before, instance, effects).await?;
        tx.commit().await?;
        if written && before.state.name() != instance.state.name() {
            tracing::info!(
                instance.id = %instance.id, tenant.id = %instance.tenant,
                from = before.state.name(), to = instance.state.name(),
                reason = instance.state.why().map(|why| why.reason.as_str()), "instance changed"
            );
        }
        Ok(written)
    }

    fn seen(&self, instance: &Instance) -> Seen {
        instance.state.claim().map_or(Seen::Unknown, |c| self.clusters.seen(&c.cluster, &c.unit_name))
    }

    fn decide(&self, instance: &Instance, due: bool) -> Step {
        let own = instance.state.claim().map(|claim| (claim.cluster.as_str(), claim.unit_name.as_str()));
        let strays = self.clusters.strays(instance.id, own);
        let names: Vec<String> =
            strays.into_iter().map(|(cluster, unit)| format!("{cluster}/{unit}")).collect();
        decide(instance, &self.seen(instance), &names, due)
    }

    /// Takes one step, and writes down what it changed.
    async fn take(&self, instance: &mut Instance, step: Step) -> sqlx::Result<Stepped> {
        // what cannot be taken back is decided on what the cluster says now, not on what was last heard
        let step = match step {
            Step::Fail(_) | Step::BeginAgain | Step::BecomeUnready(_) | Step::Release => {
                match self.confirmed(instance, step).await {
                    Ok(step) => step,
                    Err(later) => return Ok(later),
                }
            }
            other => other,
        };
        let before = instance.clone();
        let changed = match step {
            Step::Wait(why) => {
                if instance.waits(why) {
                    self.write(&before, instance, &Effects::default()).await?;
                }
                return Ok(Stepped::Rest);
            }
            Step::Attach => match self.attach(instance).await {
                Ok(change) => change(instance),
                Err(later) => return Ok(later),
            },
            Step::Claim => match self.claim(instance).await {
                Ok(change) => change(instance),
                Err(later) => return Ok(later),
            },
            Step::Apply => match self.apply(instance).await {
                // what comes of it is told by the watch
                Ok(None) => return Ok(Stepped::Rest),
                Ok(Some(failure)) => instance.failed(failure),
                Err(later) => return Ok(later),
            },
            Step::Record(runs) => Ok(instance.record(&runs)),
            Step::BecomeRunning(pod) => instance.became_running(pod),
            Step::BecomeUnready(why) => instance.not_ready(why),
            Step::BeginAgain => instance.begin_again(),
            Step::Fail(failure) => instance.failed(failure),
            Step::Vacate => {
                let own = instance.state.claim().map(|c| (c.cluster.clone(), c.unit_name.clone()));
                let Some((cluster, unit)) = own else { return Ok(Stepped::Rest) };
                return Ok(match self.vacate(&cluster, &unit, instance).await {
                    Ok(()) => Stepped::On,
                    Err(later) => later,
                });
            }
            Step::RemoveStray(stray) => {
                let Some((cluster, unit)) = stray.split_once('/') else { return Ok(Stepped::Rest) };
                tracing::warn!(instance.id = %instance.id, cluster, unit, "taken out of a unit not its own");
                return Ok(match self.vacate(cluster, unit, instance).await {
                    Ok(()) => Stepped::On,
                    Err(later) => later,
                });
            }
            Step::Release => match self.release(instance).await {
                Ok(()) => instance.released(),
                Err(later) => return Ok(later),
            },
            Step::Detach => match self.detach(instance).await {
                Ok(()) => instance.detached(),
                Err(later) => return Ok(later),
            },
            Step::Settle => return self.settle(instance).await,
        };
        match changed {
            Ok(effects) => {
                let written = self.write(&before, instance, &effects).await?;
                Ok(if written { Stepped::On } else { Stepped::Overtaken })
            }
            Err(illegal) => Ok(impossible(&illegal)),
        }
    }

    /// What is to be done by what the cluster says now, if it answers at once: what was last heard may lack
    /// an event that never came.
    async fn asked(&self, instance: &Instance, step: Step) -> Step {
        let confirmed = self.confirmed(instance, step.clone());
        match tokio::time::timeout(ASK, Box::pin(confirmed)).await {
            Ok(Ok(confirmed)) => confirmed,
            Ok(Err(_)) | Err(_) => step,
        }
    }

    /// The same step, if it is still the one to take by what the cluster says now; else that one.
    async fn confirmed(&self, instance: &Instance, step: Step) -> Result<Step, Stepped> {
        let Some(claim) = instance.state.claim() else { return Ok(step) };
        let Some(cluster) = self.clusters.get(&claim.cluster) else { return Ok(step) };
        let fresh = match cluster.look(&claim.unit_name).await {
            Ok(Some(unit)) => Seen::Unit(unit),
            Ok(None) => Seen::Gone,
            Err(error) => return Err(away(&error)),
        };
        if let (Step::Release, Seen::Unit(unit)) = (&step, &fresh)
            && let Some(runs) = new_runs(instance, unit)
        {
            return Ok(Step::Record(runs));
        }
        Ok(decide(instance, &fresh, &[], false))
    }

    async fn attach(&self, instance: &Instance) -> Result<Change, Stepped> {
        let Some(storage) = instance.order.storage_id else {
            return Ok(Box::new(|_| Ok(Effects::default())));
        };
        let request =
            storage::AttachRequest { tenant_id: instance.tenant, mode: storage::AttachmentMode::ReadWrite };
        match self.storage.attach(storage, instance.id, &request).await {
            Ok(attachment) if attachment.kind == StorageKind::Volume => {
                let storage = Attached { object_name: attachment.object_name, cluster: attachment.cluster };
                Ok(Box::new(move |instance| instance.attached(storage)))
            }
            Ok(_) => Ok(fail(Failure {
                why: Why::new(
                    "storage_not_mountable",
                    "Only a volume can be mounted. Choose a storage of the kind volume.",
                ),
                log_tail: None,
                problem: None,
            })),
            // a storage that is being made may be a moment away
            Err(clients::Error::Problem(problem))
                if problem.is(ProblemType::StorageNotAvailable)
                    && instance.updated_at + STORAGE_WAIT > Timestamp::now() =>
            {
                let why = Why::new("storage_not_available", problem.detail.clone());
                Err(Stepped::Later(why, problem.detail))
            }
            Err(clients::Error::Problem(problem)) if refused(&problem) => {
                let reason = if problem.is(ProblemType::NotFound) {
                    "storage_not_found"
                } else {
                    "storage_not_available"
                };
                Ok(fail(Failure {
                    why: Why::new(reason, problem.detail.clone()),
                    log_tail: None,
                    problem: Some(problem),
                }))
            }
            Err(error) => Err(neighbour("storage_unavailable", "The storage service", &error)),
        }
    }

    async fn claim(&self, instance: &Instance) -> Result<Change, Stepped> {
        let request = stock::ClaimRequest {
            instance_id: instance.id,
            tenant_id: instance.tenant,
            gpu_spec_id: instance.order.gpu_spec_id,
            datacenter_id: instance.order.datacenter_id,
            preferred_node: instance.last_place.as_ref().and_then(|place| place.node.clone()),
        };
        match self.stock.claim(&request).await {
            Ok(claim) => {
                let there = instance.storage.as_ref().and_then(|storage| storage.cluster.as_ref());
                if there.is_some_and(|there| *there != claim.cluster) {
                    return Ok(fail(Failure {
                        why: Why::new(
                            "storage_elsewhere",
                            "The free unit is in another cluster than the storage. Choose the storage's datacenter.",
                        ),
                        log_tail: None,
                        problem: None,
                    }));
                }
                Ok(Box::new(move |instance| instance.claimed(claim.into())))
            }
            Err(clients::Error::Problem(problem)) if refused(&problem) => {
                let reason =
                    if problem.is(ProblemType::StockExhausted) { "stock_exhausted" } else { "stock_refused" };
                Ok(fail(Failure {
                    why: Why::new(reason, problem.detail.clone()),
                    log_tail: None,
                    problem: Some(problem),
                }))
            }
            Err(error) => Err(neighbour("stock_unavailable", "The stock service", &error)),
        }
    }

    async fn apply(&self, instance: &Instance) -> Result<Option<Failure>, Stepped> {
        let Some(claim) = instance.state.claim() else { return Ok(None) };
        let Some(cluster) = self.clusters.get(&claim.cluster) else {
            return Err(not_configured(&claim.cluster));
        };
        let wanted = manifest::wanted(instance, &self.apps.url(instance.id));
        match cluster.apply(&claim.unit_name, &wanted).await {
            Ok(()) => Ok(None),
            Err(WriteError::Gone) => Ok(Some(Failure {
                why: Why::new("unit_gone", "The unit it was given was removed."),
                log_tail: None,
                problem: None,
            })),
            Err(WriteError::Refused(message)) => Ok(Some(Failure {
                why: Why::new("template_refused", format!("The cluster does not accept it: {message}")),
                log_tail: None,
                problem: None,
            })),
            Err(error) => Err(away(&error)),
        }
    }

    async fn vacate(&self, cluster: &str, unit: &str, instance: &Instance) -> Result<(), Stepped> {
        let Some(cluster) = self.clusters.get(cluster) else { return Err(not_configured(cluster)) };
        cluster.vacate(unit, &instance.id.k8s_name()).await.map_err(|error| away(&error))
    }

    /// Gives back the very claim that is known, or found: a call that is held up on its way must not take the
    /// unit with which the instance has been started again meanwhile.
    async fn release(&self, instance: &Instance) -> Result<(), Stepped> {
        let away = |error| neighbour("stock_unavailable", "The stock service", &error);
        let claimed_at = match instance.state.claim().and_then(|claim| claim.claimed_at) {
            Some(claimed_at) => claimed_at,
            None => match self.stock.find_claim(instance.id).await {
                Ok(claim) => claim.claimed_at,
                // it holds none; that it waits for one is forgotten
                Err(error) if error.is_not_found() => Timestamp::UNIX_EPOCH,
                Err(error) => return Err(away(error)),
            },
        };
        self.stock.release(instance.id, claimed_at).await.map_err(away)
    }

    async fn detach(&self, instance: &Instance) -> Result<(), Stepped> {
        let Some(storage) = instance.order.storage_id else { return Ok(()) };
        match self.storage.detach(storage, instance.id).await {
            Ok(()) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(neighbour("storage_unavailable", "The storage service", &error)),
        }
    }

    async fn settle(&self, instance: &Instance) -> sqlx::Result<Stepped> {
        if let Err(later) = self.release(instance).await {
            return Ok(later);
        }
        if matches!(instance.state, State::Deleted)
            && let Err(later) = self.detach(instance).await
        {
            return Ok(later);
        }
        Ok(Stepped::Rest)
    }
}

type Change = Box<dyn FnOnce(&mut Instance) -> Result<Effects, Illegal> + Send>;

fn fail(failure: Failure) -> Change {
    Box::new(move |instance| instance.failed(failure))
}

/// Whether a neighbour's answer is about the instance, rather than about itself or how it was called.
fn refused(problem: &ProblemDetails) -> bool {
    let about_the_call = [
        ProblemType::BadRequest,
        ProblemType::NoSuchRoute,
        ProblemType::IdempotencyKeyInUse,
        ProblemType::IdempotencyKeyReused,
    ];
    matches!(problem.status, 404 | 409 | 410 | 422) && !about_the_call.iter().any(|kind| problem.is(*kind))
}

fn neighbour(reason: &str, who: &str, error: &clients::Error) -> Stepped {
    Stepped::Later(
        Why::new(reason, format!("{who} does not answer; it is being tried again.")),
        ErrorChain(error).to_string(),
    )
}

fn away(error: &WriteError) -> Stepped {
    let why = match error {
        WriteError::Occupied => Why::new("unit_occupied", "Its unit is still being cleared."),
        _ => Why::new(
            "cluster_unreachable",
            "The cluster of its datacenter does not answer; it is being tried again.",
        ),
    };
    Stepped::Later(why, ErrorChain(error).to_string())
}

fn not_configured(cluster: &str) -> Stepped {
    let why = Why::new("cluster_unreachable", "The cluster of its datacenter is not reached from here.");
    Stepped::Later(why, format!("no cluster {cluster:?} is configured"))
}

fn impossible(illegal: &Illegal) -> Stepped {
    let why = Why::new("internal", "It could not be brought further; the platform's operators are told.");
    tracing::error!(error = %illegal, "a step does not fit the state");
    Stepped::Later(why, illegal.to_string())
}
