//! What handlers know of the connection to the broker, and what everything that runs on it shares.

use std::{collections::HashSet, convert::Infallible, time::Duration};

use anyhow::Context as _;
use db::Tx;
use ids::{MqCredentialId, TenantId};
use lapin::Channel;
use moka::sync::Cache;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use super::{Parts, allowance::Allowances, store, topology};

/// Longest time of a call to the broker.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of credentials whose tenants are remembered.
const CREDENTIALS: u64 = 10_000;
/// Refused messages of a tenant that are recorded at once, and the time until one more is.
const RECORDS: (u32, Duration) = (1_000, Duration::from_millis(100));
/// Connections that a tenant opens at once, and the time until one more is allowed.
const SIGN_INS: (u32, Duration) = (100, Duration::from_millis(500));

/// The state of the connection.
pub(super) enum Link {
    /// It is being made for the first time.
    Connecting,
    /// It was lost, or could not be made.
    Lost,
    /// Connected; the queues of these tenants have been declared on it.
    Connected(HashSet<TenantId>),
}

/// The state that handlers share with the message queue.
pub struct BrokerState {
    pub(super) link: watch::Sender<Link>,
    /// A credential was created.
    pub(super) credentials: watch::Sender<()>,
    /// Credentials have ended.
    pub(super) ended: watch::Sender<()>,
    /// Rows were added to the outbox.
    pub(super) published: watch::Sender<()>,
    /// The tenants of credentials, which never change.
    pub(super) tenants: Cache<MqCredentialId, TenantId>,
    /// Limits how many refused messages are recorded, per tenant and for unknown senders.
    pub(super) records: Allowances<Option<TenantId>>,
    /// Limits how many connections tenants open.
    pub(super) sign_ins: Allowances<TenantId>,
}

impl Default for BrokerState {
    fn default() -> Self {
        Self {
            link: watch::Sender::new(Link::Connecting),
            credentials: watch::Sender::new(()),
            ended: watch::Sender::new(()),
            published: watch::Sender::new(()),
            tenants: Cache::new(CREDENTIALS),
            records: Allowances::new(RECORDS.0, RECORDS.1),
            sign_ins: Allowances::new(SIGN_INS.0, SIGN_INS.1),
        }
    }
}

impl BrokerState {
    /// Waits until the queue of a tenant with a new credential can be read; only briefly, and not while the
    /// broker is unreachable.
    pub(super) async fn queue_declared(&self, tenant: TenantId) {
        self.credentials.send_replace(());
        let mut link = self.link.subscribe();
        let declared = link.wait_for(|link| match link {
            Link::Connecting => false,
            Link::Lost => true,
            Link::Connected(tenants) => tenants.contains(&tenant),
        });
        let _ = timeout(CALL_LIMIT, declared).await;
    }

    /// Requests that the connections of ended credentials are closed.
    pub fn credentials_ended(&self) {
        self.ended.send_replace(());
    }

    fn has_declared(&self, tenant: TenantId) -> bool {
        matches!(&*self.link.borrow(), Link::Connected(tenants) if tenants.contains(&tenant))
    }

    /// The queue of the tenant is gone.
    pub(super) fn forget(&self, tenant: TenantId) {
        self.link.send_if_modified(|link| match link {
            Link::Connected(tenants) => tenants.remove(&tenant),
            _ => false,
        });
    }
}

/// Declares the queue of a tenant's events, once per connection.
pub(super) async fn declare(parts: &Parts, channel: &Channel, tenant: TenantId) -> anyhow::Result<()> {
    let broker = &parts.broker;
    if broker.has_declared(tenant) {
        return Ok(());
    }
    let declaring = lock(parts).await?;
    if !broker.has_declared(tenant) {
        timed(topology::declare_events(channel, tenant)).await?;
        broker.link.send_if_modified(|link| match link {
            Link::Connected(tenants) => tenants.insert(tenant),
            _ => false,
        });
    }
    Ok(declaring.commit().await?)
}

/// Takes the lock under which all replicas declare queues and exchanges. Messages to a queue that two
/// replicas declare concurrently may be lost.
pub(super) async fn lock(parts: &Parts) -> sqlx::Result<Tx> {
    let mut tx = parts.db.worker().await?;
    store::lock_topology(&mut tx).await?;
    Ok(tx)
}

/// Waits for a call to the broker, for a limited time.
pub(super) async fn timed<T>(call: impl Future<Output = lapin::Result<T>>) -> anyhow::Result<T> {
    let answer = timeout(CALL_LIMIT, call).await;
    Ok(answer.with_context(|| format!("the broker did not answer in {} s", CALL_LIMIT.as_secs()))??)
}

/// Waits until one of the tasks has ended, and ends the others.
pub(super) async fn first_to_end(
    mut tasks: JoinSet<anyhow::Result<Infallible>>,
) -> anyhow::Result<Infallible> {
    tasks.join_next().await.context("no tasks")??
}
