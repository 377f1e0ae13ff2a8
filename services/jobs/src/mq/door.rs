//! The connection to the broker: one per process. It is made again when it is lost, and with it everything on it.

use std::{collections::HashSet, convert::Infallible, sync::Arc, time::Duration};

use anyhow::Context as _;
use db::Tx;
use ids::{MqCredentialId, TenantId};
use lapin::{Channel, ConnectionProperties, uri::AMQPUri};
use moka::sync::Cache;
use secrecy::ExposeSecret as _;
use service::{Process, Round};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::{
    allowance::Allowances,
    connections, intake, outbox, publisher, repair, store,
    topology::{self, Intake},
    users, wire,
};
use crate::{config::MqConfig, rest, state::AppState};

/// Longest time of a call to the broker.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// Pauses before the connection is made again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// How often the broker and this process show that they are alive, in seconds.
const HEARTBEAT: u16 = 10;
/// How often the replica looks for credentials of other replicas.
const LOOK: Duration = Duration::from_secs(1);
/// How often the outbox is measured.
const MEASURE_PERIOD: Duration = Duration::from_secs(5);

/// Credentials whose tenants are remembered, at most.
const CREDENTIALS: u64 = 10_000;
/// Refused messages of a tenant that are recorded at once, and the time until one more is.
const RECORDS: (u32, Duration) = (1_000, Duration::from_millis(100));
/// Connections that a tenant opens at once, and the time until one more is allowed.
const SIGN_INS: (u32, Duration) = (100, Duration::from_millis(500));

/// The state of the connection.
enum Link {
    /// It is being made for the first time.
    Connecting,
    /// It was lost, or could not be made.
    Lost,
    /// On it the queues of these tenants have been declared.
    Connected(HashSet<TenantId>),
}

/// What handlers know of the door, and tell it.
pub(crate) struct Door {
    link: watch::Sender<Link>,
    /// A credential was created.
    pub(super) credentials: watch::Sender<()>,
    /// Credentials have ended.
    pub(super) ended: watch::Sender<()>,
    /// Rows were added to the outbox.
    pub(super) published: watch::Sender<()>,
    /// The tenants of credentials, which never change.
    pub(super) tenants: Cache<MqCredentialId, TenantId>,
    /// How many refused messages are recorded, of tenants and of unknown senders.
    pub(super) records: Allowances<Option<TenantId>>,
    /// How many connections tenants may open.
    pub(super) sign_ins: Allowances<TenantId>,
}

impl Default for Door {
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

impl Door {
    /// Waits until the queue of a tenant with a new credential can be read; not for long, and not while the broker is away.
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

    /// Has the connections of credentials closed that have ended.
    pub(crate) fn credentials_ended(&self) {
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

/// Starts the workers `jobs.mq`, which talks to the broker, `jobs.mq_users`, which has it limit credentials, and `jobs.mq_outbox`,
/// which measures what is not published.
pub(crate) fn start(state: &AppState, process: &Process, config: &MqConfig) {
    connections::start(state, &process.workers, config);
    users::start(state, &process.workers, config);
    let (shared, config) = (state.clone(), config.clone());
    // the lease of the publisher survives a connection
    let replica = Uuid::new_v4();
    process.workers.spawn("jobs.mq", move |stop| {
        let (state, config) = (shared.clone(), config.clone());
        async move {
            let ended = Box::pin(stop.run_until_cancelled(run(&state, &config, replica))).await;
            publisher::release(&state, replica).await?;
            ended.unwrap_or(Ok(()))
        }
    });
    rest::spawn_periodic(state, &process.workers, "jobs.mq_outbox", MEASURE_PERIOD, |state| async move {
        let mut tx = state.db.worker().await?;
        let age = outbox::age(&mut tx).await?;
        state.metrics.outbox_age(age);
        store::delete_old_dead(&mut tx).await?;
        tx.commit().await?;
        Ok(Round::Done)
    });
}

/// Declares the queue of a tenant's events, once per connection.
pub(super) async fn declare(state: &AppState, channel: &Channel, tenant: TenantId) -> anyhow::Result<()> {
    let door = &state.door;
    if door.has_declared(tenant) {
        return Ok(());
    }
    let declaring = lock(state).await?;
    if !door.has_declared(tenant) {
        timed(topology::declare_events(channel, tenant)).await?;
        door.link.send_if_modified(|link| match link {
            Link::Connected(tenants) => tenants.insert(tenant),
            _ => false,
        });
    }
    Ok(declaring.commit().await?)
}

/// Takes the lock under which all replicas declare queues and exchanges. Messages to a queue that two declare concurrently may be lost,
/// and a second replacement of an exchange would refuse messages.
async fn lock(state: &AppState) -> sqlx::Result<Tx> {
    let mut tx = state.db.worker().await?;
    store::lock_topology(&mut tx).await?;
    Ok(tx)
}

/// Connects again and again. A broker that is away does not make this process unready: REST does not need it.
async fn run(state: &AppState, config: &MqConfig, replica: Uuid) -> anyhow::Result<()> {
    let mut pause = PAUSES.0;
    loop {
        let Err(error) = Box::pin(session(state, config, replica, &mut pause)).await;
        state.door.link.send_replace(Link::Lost);
        state.metrics.broker_connected(false);
        tracing::warn!(error = format!("{error:#}"), "no connection to the broker");
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Waits for a call to the broker, which may never answer.
pub(super) async fn timed<T>(call: impl Future<Output = lapin::Result<T>>) -> anyhow::Result<T> {
    let answer = timeout(CALL_LIMIT, call).await;
    Ok(answer.with_context(|| format!("the broker did not answer in {} s", CALL_LIMIT.as_secs()))??)
}

async fn session(
    state: &AppState,
    config: &MqConfig,
    replica: Uuid,
    pause: &mut Duration,
) -> anyhow::Result<Infallible> {
    let mut uri: AMQPUri =
        config.url.expose_secret().parse().map_err(|error| anyhow::anyhow!("mq.url: {error}"))?;
    uri.query.heartbeat.get_or_insert(HEARTBEAT);
    let properties = ConnectionProperties::default().with_connection_name("atelier-jobs".into());
    let connection = timed(wire::connect(uri, properties)).await?;
    let channel = timed(connection.create_channel()).await?;
    let declaring = lock(state).await?;
    timed(topology::declare(&connection)).await?;
    declaring.commit().await?;
    *pause = PAUSES.0;
    state.door.link.send_replace(Link::Connected(HashSet::new()));
    let (connection, mut tasks) = (Arc::new(connection), JoinSet::new());
    for queue in Intake::ALL {
        tasks.spawn(intake::run(state.clone(), Arc::clone(&connection), queue));
    }
    let (broken, repairs) = repair::channel();
    tasks.spawn(publisher::run(state.clone(), Arc::clone(&connection), replica, broken));
    tasks.spawn(repair::run(state.clone(), connection, config.clone(), repairs));
    tasks.spawn(declare_queues(state.clone(), channel));
    tracing::info!("connected to the broker");
    state.metrics.broker_connected(true);
    first_to_end(tasks).await
}

/// Waits until one of the tasks has ended, and ends the others.
pub(super) async fn first_to_end(
    mut tasks: JoinSet<anyhow::Result<Infallible>>,
) -> anyhow::Result<Infallible> {
    tasks.join_next().await.context("no tasks")??
}

/// Declares the queues of tenants with credentials: now, and when there are more.
async fn declare_queues(state: AppState, channel: Channel) -> anyhow::Result<Infallible> {
    let mut credentials = state.door.credentials.subscribe();
    loop {
        credentials.mark_unchanged();
        match tenants(&state).await {
            Ok(tenants) => {
                for tenant in tenants {
                    declare(&state, &channel, tenant).await?;
                }
            }
            Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot read credentials"),
        }
        // the sender lives as long as the process
        tokio::select! {
            () = state.rest.pause(LOOK) => {}
            _ = credentials.changed() => {}
        }
    }
}

async fn tenants(state: &AppState) -> sqlx::Result<Vec<TenantId>> {
    let mut tx = state.db.worker().await?;
    store::tenants(&mut tx).await
}
