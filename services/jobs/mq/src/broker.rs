//! The connection to the broker: one per process. A lost connection is reopened, with everything that runs on
//! it.

use std::{collections::HashSet, convert::Infallible, sync::Arc, time::Duration};

use ids::TenantId;
use lapin::{Channel, ConnectionProperties, uri::AMQPUri};
use records::{outbox, rest};
use secrecy::ExposeSecret as _;
use service::{Duty, Round, Task};
use tokio::{task::JoinSet, time::sleep};
use uuid::Uuid;

use super::{
    Parts,
    broker_state::{Link, declare, first_to_end, lock, timed},
    connections, intake, publisher, repair, store,
    topology::{self, Intake},
    users, wire,
};
use crate::MqConfig;

/// Pauses before the connection is reopened: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// Interval of the heartbeats of the broker and this process, in seconds.
const HEARTBEAT: u16 = 10;
/// How often the replica checks for credentials of other replicas.
const LOOK: Duration = Duration::from_secs(1);
/// How often the outbox is measured.
const MEASURE_PERIOD: Duration = Duration::from_secs(5);

/// The tasks that talk to the broker, make it limit credentials, and measure the unpublished events.
pub fn tasks(parts: &Parts, config: &MqConfig) -> Vec<Task> {
    // the lease of the publisher survives a connection
    let replica = Uuid::new_v4();
    let talk = Task::until_stop(
        "mq",
        Duty::Serve,
        &(parts.clone(), config.clone()),
        move |(parts, config), stop| async move {
            let ended = Box::pin(stop.run_until_cancelled(run(&parts, &config, replica))).await;
            publisher::release(&parts, replica).await?;
            ended.unwrap_or(Ok(()))
        },
    );
    let outbox = ("mq_outbox", Duty::Housekeeping, MEASURE_PERIOD);
    let measure = rest::task(&parts.rest, outbox, parts, |parts| async move {
        let mut tx = parts.db.worker().await?;
        let age = outbox::age(&mut tx).await?;
        parts.metrics.outbox_age(age);
        store::delete_old_dead(&mut tx).await?;
        tx.commit().await?;
        Ok(Round::Done)
    });
    let mut tasks = vec![talk, measure];
    tasks.extend(connections::task(parts, config));
    tasks.extend(users::task(parts, config));
    tasks
}

/// Connects repeatedly. An unreachable broker does not make this process unready, as REST does not need it.
async fn run(parts: &Parts, config: &MqConfig, replica: Uuid) -> anyhow::Result<()> {
    let mut pause = PAUSES.0;
    loop {
        let Err(error) = Box::pin(session(parts, config, replica, &mut pause)).await;
        parts.broker.link.send_replace(Link::Lost);
        parts.metrics.broker_connected(false);
        tracing::warn!(error = format!("{error:#}"), "no connection to the broker");
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

async fn session(
    parts: &Parts,
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
    let declaring = lock(parts).await?;
    timed(topology::declare(&connection)).await?;
    declaring.commit().await?;
    *pause = PAUSES.0;
    parts.broker.link.send_replace(Link::Connected(HashSet::new()));
    let (connection, mut tasks) = (Arc::new(connection), JoinSet::new());
    for queue in Intake::ALL {
        tasks.spawn(intake::run(parts.clone(), Arc::clone(&connection), queue));
    }
    let (broken, repairs) = repair::channel();
    tasks.spawn(publisher::run(parts.clone(), Arc::clone(&connection), replica, broken));
    tasks.spawn(repair::run(parts.clone(), connection, config.clone(), repairs));
    tasks.spawn(declare_queues(parts.clone(), channel));
    tracing::info!("connected to the broker");
    parts.metrics.broker_connected(true);
    first_to_end(tasks).await
}

/// Declares the queues of tenants with credentials: now, and when there are new ones.
async fn declare_queues(parts: Parts, channel: Channel) -> anyhow::Result<Infallible> {
    let mut credentials = parts.broker.credentials.subscribe();
    loop {
        credentials.mark_unchanged();
        match tenants(&parts).await {
            Ok(tenants) => {
                for tenant in tenants {
                    declare(&parts, &channel, tenant).await?;
                }
            }
            Err(error) => tracing::warn!(error = format!("{error:#}"), "cannot read credentials"),
        }
        // the sender lives as long as the process
        tokio::select! {
            () = parts.rest.pause(LOOK) => {}
            _ = credentials.changed() => {}
        }
    }
}

async fn tenants(parts: &Parts) -> sqlx::Result<Vec<TenantId>> {
    let mut tx = parts.db.worker().await?;
    store::tenants(&mut tx).await
}
