//! Replaces a queue of events that a crash of the broker has broken. A node that is killed within seconds
//! after it has declared a quorum queue forgets its own member of it: the queue then never has a leader, and
//! neither accepts nor delivers messages (rabbitmq/rabbitmq-server#15725). The messages in the queue are lost
//! with the crash; the others wait in the outbox.

use std::{convert::Infallible, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use ids::TenantId;
use lapin::{Connection, options::ConfirmSelectOptions};
use serde::Deserialize;
use tokio::{sync::mpsc, time::timeout};

use super::{
    Parts,
    broker_state::timed,
    management::Management,
    topology::{self, queue_of},
};
use crate::MqConfig;

/// Maximum number of tenants whose replacement waits.
const WAITING: usize = 16;
/// Longest time in which a working broker confirms a message.
const CONFIRM_LIMIT: Duration = Duration::from_secs(5);

/// Where broken queues are reported.
pub(super) type Broken = mpsc::Sender<TenantId>;

pub(super) fn channel() -> (Broken, mpsc::Receiver<TenantId>) {
    mpsc::channel(WAITING)
}

/// Replaces reported queues, until the connection is lost.
pub(super) async fn run(
    parts: Parts,
    connection: Arc<Connection>,
    config: MqConfig,
    mut broken: mpsc::Receiver<TenantId>,
) -> anyhow::Result<Infallible> {
    let management = config.management_url.as_ref().map(Management::new).transpose()?;
    loop {
        // the publisher, which has the sender, ends together with this
        let Some(tenant) = broken.recv().await else { std::future::pending().await };
        let Some(management) = &management else {
            tracing::warn!(tenant.id = %tenant, "a queue of events takes nothing: see mq.management_url");
            continue;
        };
        match replace(&connection, management, tenant).await {
            Ok(()) => {
                tracing::warn!(tenant.id = %tenant, "a queue of events that took nothing was replaced");
                parts.broker.forget(tenant);
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(tenant.id = %tenant, error, "a queue of events takes nothing");
            }
        }
    }
}

#[derive(Deserialize)]
struct Members {
    members: Vec<String>,
}

#[derive(Deserialize)]
struct Node {
    name: String,
    running: bool,
}

/// Deletes the queue of a tenant, unless the whole broker fails. It is declared again with the next event.
async fn replace(connection: &Connection, management: &Management, tenant: TenantId) -> anyhow::Result<()> {
    let name = queue_of(tenant);
    let queue: Members = management.get(&["queues", "/", &name]).await?;
    // an unreachable node may still have its contents. If a node works but its member does not, the member is
    // broken, or an unfinished deletion left it behind
    let nodes: Vec<Node> = management.get(&["nodes"]).await?;
    let runs = |member: &String| nodes.iter().any(|node| node.running && node.name == *member);
    ensure!(queue.members.iter().all(runs), "nodes of its members are away");
    let channel = timed(connection.create_channel()).await?;
    timed(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let confirm = timed(topology::probe(&channel)).await?;
    let confirmed = timeout(CONFIRM_LIMIT, confirm).await.context("the broker confirms nothing at all")??;
    ensure!(confirmed.is_ack(), "the broker takes nothing at all");
    management.delete(&["queues", "/", &name], "it takes nothing").await
}
