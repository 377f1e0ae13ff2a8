//! Tenants that have nothing left to spend. The gpu service, which has the budgets, returns them; their jobs
//! are held.

mod store;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use api::ErrorChain;
use db::Db;
use ids::TenantId;
use jiff::Timestamp;
use jobs_core::status::QueuedReason;
use service::{Duty, Round, Task};
use tokio::{sync::watch, time::timeout};

use crate::{
    pool,
    rest::{self, Rest},
};

pub use store::renews_at;

/// What the task needs that asks for tenants without budget.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// None if the platform runs no workers.
    pub gpu: Option<gpu_api::Client>,
    pub rest: Arc<Rest>,
    /// Wakes the schedulers of this process before they poll.
    pub submitted: watch::Sender<()>,
}

/// How often the gpu service is asked while something is in progress.
const PERIOD: Duration = Duration::from_secs(2);
/// How long a starting scheduler waits for the answer.
const WAIT: Duration = Duration::from_secs(1);

/// Why no job of a tenant starts, and when more becomes available, if known.
type Hold = (QueuedReason, Option<Timestamp>);

/// The task that asks, if the configuration names the gpu service.
pub fn task(parts: &Parts) -> Option<Task> {
    parts.gpu.as_ref()?;
    Some(rest::task(&parts.rest, ("budgets", Duty::Follow, PERIOD), parts, |parts| async move {
        // a scheduler asks before it starts anything
        if !parts.rest.is_on() {
            read(&parts).await?;
        }
        Ok(Round::Done)
    }))
}

/// Asks before jobs of a pool are scheduled, as nobody may have asked for a while. Without an answer, the
/// last one stays valid.
pub async fn read_in_time(parts: &Parts) {
    match timeout(WAIT, read(parts)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(cause = %ErrorChain(&*error), "cannot ask who has spent its budget");
        }
        Err(_) => tracing::warn!("the gpu service does not say who has spent its budget"),
    }
}

/// Asks which tenants have nothing left to spend, stores the answer, and notifies the schedulers of changes.
async fn read(parts: &Parts) -> anyhow::Result<()> {
    let Some(gpu) = &parts.gpu else { return Ok(()) };
    let spent = gpu.spent_tenants(None).await?.items.into_iter();
    let said: BTreeMap<TenantId, Hold> = spent
        .filter_map(|tenant| Some((tenant.tenant_id, (reason(&tenant.reason)?, tenant.renews_at))))
        .collect();
    let mut tx = parts.db.worker().await?;
    let known = store::all(&mut tx).await?;
    if known == said {
        return Ok(());
    }
    let differs = |tenant: &&TenantId| known.get(*tenant) != said.get(*tenant);
    let changed: BTreeSet<TenantId> = known.keys().chain(said.keys()).filter(differs).copied().collect();
    for tenant in changed {
        store::put(&mut tx, tenant, said.get(&tenant)).await?;
        pool::publish_to_all(&mut tx, &pool::Changed::Tenant(tenant)).await?;
    }
    tx.commit().await?;
    parts.submitted.send_replace(());
    Ok(())
}

fn reason(code: &str) -> Option<QueuedReason> {
    match code {
        "budget_exhausted" => Some(QueuedReason::BudgetExhausted),
        "allowance_expired" => Some(QueuedReason::AllowanceExpired),
        _ => None,
    }
}
