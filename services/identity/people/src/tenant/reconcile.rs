//! Carries out the state of tenants: sends it to each configured service until all have applied it. A deleted
//! tenant without remaining data is then removed.
//!
//! Services apply an order idempotently and ignore one that is older than the last, so a crash at any point
//! only causes a repetition.

use std::{collections::BTreeMap, time::Duration};

use anyhow::ensure;
use api::{ErrorChain, OperationProgress};
use db::Db;
use db::queue::{Leased, Outcome, Queue, Settings};
use ids::TenantId;
use jiff::Timestamp;
use operations::End;
use serde_json::json;
use service::{Process, Task};
use sqlx::PgConnection;

use super::{
    model::{Tenant, TenantState, TenantStep},
    store::{self, QUEUE},
};
use crate::{clock::Clock, revocation};

/// Time until a service that is not done is called again.
const POLL: Duration = Duration::from_secs(1);
/// The same while only storages in their grace period are left.
const SLOW_POLL: Duration = Duration::from_secs(60);

/// What carrying out needs.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub clock: Clock,
    /// The services that own something of tenants, by name.
    pub participants: Vec<(String, tenants::Client)>,
}

/// The tasks of the queue of tenants.
pub fn tasks(parts: Parts, process: &Process) -> [Task; 2] {
    let queue = Queue::new(&parts.db, QUEUE, Settings::default(), &process.metrics);
    queue.tasks("tenants", move |leased| {
        let parts = parts.clone();
        async move { reconcile(&parts, leased).await }
    })
}

async fn reconcile(parts: &Parts, leased: Leased<TenantId>) -> anyhow::Result<Outcome> {
    let mut tx = parts.db.worker().await?;
    let Some(tenant) = store::find(&mut tx, leased.key).await? else { return Ok(Outcome::Released) };
    tx.commit().await?;
    let now = parts.clock.now();
    let steps = ask_services(parts, &tenant, now).await;
    let mut tx = parts.db.worker().await?;
    let after = settle(&mut tx, &tenant, steps, now).await?;
    ensure!(after == Next::Gone || leased.release(&mut tx, after.delay()).await?, "lease lost");
    tx.commit().await?;
    Ok(Outcome::Released)
}

/// Requests the state of the tenant from each service, and returns their progress.
async fn ask_services(parts: &Parts, tenant: &Tenant, now: Timestamp) -> Vec<TenantStep> {
    let order = order(tenant, now);
    let mut steps = Vec::new();
    for (service, client) in &parts.participants {
        let service = service.clone();
        steps.push(match client.put(tenant.id, &order).await {
            Ok(progress) => {
                TenantStep { service, done: progress.done, remaining: progress.remaining, message: None }
            }
            Err(error) => {
                tracing::warn!(
                    tenant.id = %tenant.id, service, error = %ErrorChain(&error), "a service cannot carry out the state of a tenant"
                );
                let message = Some("The service does not answer. The platform retries.".to_owned());
                TenantStep { service, done: false, remaining: BTreeMap::new(), message }
            }
        });
    }
    steps
}

fn order(tenant: &Tenant, now: Timestamp) -> tenants::TenantOrder {
    tenants::TenantOrder {
        generation: tenant.generation,
        state: match tenant.state {
            TenantState::Active => tenants::TenantState::Active,
            TenantState::Suspended => tenants::TenantState::Suspended,
            TenantState::Deleting => tenants::TenantState::Deleting,
        },
        stop_instances: tenant.stop_instances,
        delete_storages: is_due(tenant, now),
    }
}

fn is_due(tenant: &Tenant, now: Timestamp) -> bool {
    tenant.delete_storages_at.is_some_and(|at| at <= now)
}

/// What to do with a tenant after its services have answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It was deleted.
    Gone,
    /// Nothing, until it is changed.
    Done,
    /// Its storages are deleted before the end of the grace period, as there are none: the services then
    /// delete all remaining data.
    Early,
    /// Call the services again after this time.
    Again(Duration),
}

impl Next {
    fn delay(self) -> Option<Duration> {
        match self {
            Self::Again(after) => Some(after),
            Self::Early => Some(Duration::ZERO),
            Self::Gone | Self::Done => None,
        }
    }
}

/// Records the progress of the services, and deletes a tenant without remaining data. A tenant that has
/// changed since it was read is due at once.
async fn settle(
    tx: &mut PgConnection,
    read: &Tenant,
    steps: Vec<TenantStep>,
    now: Timestamp,
) -> anyhow::Result<Next> {
    let Some(tenant) = store::lock(tx, read.id).await? else { return Ok(Next::Gone) };
    if tenant.generation != read.generation {
        return Ok(Next::Again(Duration::ZERO));
    }
    let next = next(&tenant, &steps, now);
    if tenant.steps != steps {
        store::record_steps(tx, tenant.id, &steps).await?;
    }
    if let Some(deletion) = tenant.deletion_id {
        operations::report(tx, deletion, &progress(&tenant, &steps)).await?;
    }
    if next == Next::Early {
        store::delete_storages_at(tx, tenant.id, now).await?;
    }
    if let (Next::Gone, Some(deletion)) = (next, tenant.deletion_id) {
        operations::finish(tx, deletion, &End::Succeeded).await?;
        store::delete_members(tx, tenant.id).await?;
        store::delete(tx, tenant.id).await?;
        revocation::of_tenant(tx, tenant.id).await?;
        tracing::info!(tenant.id = %tenant.id, "tenant deleted");
    }
    Ok(next)
}

fn next(tenant: &Tenant, steps: &[TenantStep], now: Timestamp) -> Next {
    let done = steps.iter().all(|step| step.done);
    match tenant.state {
        TenantState::Deleting if done && is_due(tenant, now) => Next::Gone,
        TenantState::Deleting if done => Next::Early,
        TenantState::Deleting if !is_due(tenant, now) => {
            let only_storages = steps
                .iter()
                .all(|step| step.message.is_none() && step.remaining.keys().all(|kind| kind == "storages"));
            let due = tenant.delete_storages_at.map(|at| at.duration_since(now).unsigned_abs());
            let longest = if only_storages { SLOW_POLL } else { POLL };
            Next::Again(due.unwrap_or(POLL).clamp(Duration::from_millis(100), longest))
        }
        TenantState::Active | TenantState::Suspended if done => Next::Done,
        _ => Next::Again(POLL),
    }
}

fn progress(tenant: &Tenant, steps: &[TenantStep]) -> OperationProgress {
    let message = steps.iter().find_map(|step| step.message.clone());
    OperationProgress {
        message,
        members: [
            ("services".to_owned(), json!(steps)),
            ("delete_storages_at".to_owned(), json!(tenant.delete_storages_at)),
        ]
        .into_iter()
        .collect(),
        ..OperationProgress::default()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn step(done: bool, kind: &str) -> TenantStep {
        let remaining = if done { BTreeMap::new() } else { BTreeMap::from([(kind.to_owned(), 1)]) };
        TenantStep { service: kind.to_owned(), done, remaining, message: None }
    }

    #[test]
    fn a_tenant_is_deleted_when_nothing_is_left_of_it() {
        let now = Timestamp::UNIX_EPOCH;
        let tenant = |state, grace: Option<i64>| Tenant {
            delete_storages_at: grace.map(|seconds| now + SignedDuration::from_secs(seconds)),
            ..Tenant::fixture(state)
        };
        let again = |seconds| Next::Again(Duration::from_secs(seconds));
        let (some, none) =
            ([step(true, "gpu"), step(false, "storages")], [step(true, "gpu"), step(true, "s")]);
        use TenantState::{Active, Deleting, Suspended};
        assert_eq!(next(&tenant(Suspended, None), &some, now), again(1));
        assert_eq!(next(&tenant(Suspended, None), &none, now), Next::Done);
        assert_eq!(next(&tenant(Active, None), &none, now), Next::Done);
        assert_eq!(next(&tenant(Deleting, Some(0)), &some, now), again(1));
        assert_eq!(next(&tenant(Deleting, Some(0)), &none, now), Next::Gone);
        assert_eq!(next(&tenant(Deleting, Some(3600)), &none, now), Next::Early);
        assert_eq!(next(&tenant(Deleting, Some(3600)), &some, now), again(60));
        assert_eq!(next(&tenant(Deleting, Some(30)), &some, now), again(30));
        let instances = [step(false, "instances"), step(false, "storages")];
        assert_eq!(next(&tenant(Deleting, Some(3600)), &instances, now), again(1));
        let silent = [TenantStep { message: Some("no answer".to_owned()), ..step(false, "storages") }];
        assert_eq!(next(&tenant(Deleting, Some(3600)), &silent, now), again(1));
        assert!(order(&tenant(Deleting, Some(0)), now).delete_storages);
        assert!(!order(&tenant(Deleting, Some(1)), now).delete_storages);
    }
}
