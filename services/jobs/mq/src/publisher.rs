//! Events out: one replica publishes rows of the outbox, in order, and deletes those that the broker has
//! confirmed. So each message is published at least once; receivers drop messages with a known `message_id`.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use db::lease;
use ids::TenantId;
use jobs_core::event::EventType;
use lapin::{
    BasicProperties, Channel, Connection, PublisherConfirm,
    options::{BasicPublishOptions, ConfirmSelectOptions},
};
use records::outbox::{self, Content, Entry, Event};
use results::artifact;
use serde_json::{Value, json};
use storage_api::SignedUrl;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use uuid::Uuid;

use super::{
    Parts,
    broker_state::{declare, timed},
    model::task_type,
    repair::Broken,
    topology::EVENTS,
};

/// Name of the lease of the replica that publishes.
const LEASE: &str = "publishing";
/// Duration of the lease, unless it is extended.
const LEASE_TIME: Duration = Duration::from_secs(10);
/// Maximum number of messages that are published before they are confirmed.
const PAGE: i64 = 400;
/// How often the outbox is read without a notification of new rows.
const POLL: Duration = Duration::from_millis(200);
/// Pause of a replica that does not publish, or whose database does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest time until a message is confirmed.
const CONFIRM_LIMIT: Duration = Duration::from_secs(5);
/// How long events of a tenant wait whose queue does not accept them: they do not delay those of others.
const REFUSED: Duration = Duration::from_secs(10);
/// Number of pages in a row that the queue of a tenant must refuse to count as broken.
const BROKEN: u32 = 2;
/// Longest time for which the messages of a page wait for the storage service.
const SIGN_LIMIT: Duration = Duration::from_secs(2);
/// Messages survive a restart of the broker.
const PERSISTENT: u8 = 2;

/// A tenant whose queue does not accept events.
struct Refused {
    /// Nothing is published until then.
    until: Instant,
    /// Pages in a row.
    pages: u32,
}

/// Publishes until the channel is lost.
pub(super) async fn run(
    parts: Parts,
    connection: Arc<Connection>,
    replica: Uuid,
    broken: Broken,
) -> anyhow::Result<Infallible> {
    let parts = &parts;
    let channel = timed(connection.create_channel()).await?;
    timed(channel.confirm_select(ConfirmSelectOptions::default())).await?;
    let mut published = parts.broker.published.subscribe();
    let mut leads_until = Instant::now();
    let mut refused: HashMap<TenantId, Refused> = HashMap::new();
    loop {
        published.mark_unchanged();
        let now = Instant::now();
        let except: Vec<TenantId> =
            refused.iter().filter(|(_, refused)| refused.until > now).map(|(tenant, _)| *tenant).collect();
        match read(parts, replica, &except, &mut leads_until).await {
            Ok(None) => parts.rest.pause(PAUSE).await,
            Ok(Some(entries)) if entries.is_empty() => {
                // the sender lives as long as the process
                tokio::select! {
                    () = parts.rest.pause(POLL) => {}
                    _ = published.changed() => {}
                }
            }
            Ok(Some(entries)) => {
                let (confirmed, failed) = publish(parts, &channel, &entries).await?;
                refused.retain(|tenant, _| failed.contains(tenant) || except.contains(tenant));
                for tenant in failed {
                    let pages = refused.get(&tenant).map_or(1, |refused| refused.pages + 1);
                    refused.insert(tenant, Refused { until: Instant::now() + REFUSED, pages });
                    if pages >= BROKEN {
                        // reported again with the next page, if too many wait
                        let _ = broken.try_send(tenant);
                    }
                }
                if let Err(error) = delete(parts, &confirmed).await {
                    tracing::warn!(error = format!("{error:#}"), "published events will be published again");
                    sleep(PAUSE).await;
                }
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot read the outbox");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Lets another replica publish at once.
pub(super) async fn release(parts: &Parts, replica: Uuid) -> sqlx::Result<()> {
    let mut tx = parts.db.worker().await?;
    lease::release(&mut tx, LEASE, replica).await?;
    tx.commit().await
}

/// Returns the first rows; none while another replica publishes.
async fn read(
    parts: &Parts,
    replica: Uuid,
    except: &[TenantId],
    leads_until: &mut Instant,
) -> sqlx::Result<Option<Vec<Entry>>> {
    let mut tx = parts.db.worker().await?;
    if *leads_until < Instant::now() + LEASE_TIME / 2 {
        // nobody needs the lease while there is nothing to publish
        if outbox::is_empty(&mut tx).await? {
            return Ok(Some(Vec::new()));
        }
        let asked = Instant::now();
        if !lease::take(&mut tx, LEASE, replica, LEASE_TIME).await? {
            return Ok(None);
        }
        tx.commit().await?;
        *leads_until = asked + LEASE_TIME;
        tx = parts.db.worker().await?;
    }
    outbox::first(&mut tx, except, PAGE).await.map(Some)
}

async fn delete(parts: &Parts, confirmed: &[i64]) -> sqlx::Result<()> {
    let mut tx = parts.db.worker().await?;
    outbox::delete(&mut tx, confirmed).await?;
    tx.commit().await
}

/// Publishes rows. Returns the published rows, and the tenants of the others. After a message that the broker
/// did not accept, the later ones of its tenant stay, so that they are published after it.
async fn publish(
    parts: &Parts,
    channel: &Channel,
    entries: &[Entry],
) -> anyhow::Result<(Vec<i64>, HashSet<TenantId>)> {
    let mut sent: Vec<(&Entry, Option<PublisherConfirm>)> = Vec::with_capacity(entries.len());
    let mut urls = Urls { parts, works: true, until: Instant::now() + SIGN_LIMIT };
    for entry in entries {
        let Some(message) = message(entry, &mut urls).await? else {
            sent.push((entry, None));
            continue;
        };
        declare(parts, channel, entry.tenant).await?;
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let body = message.body.to_string();
        let publish = channel.basic_publish(
            EVENTS.into(),
            message.key.into(),
            options,
            body.as_bytes(),
            message.properties,
        );
        sent.push((entry, Some(timed(publish).await?)));
    }
    let (mut done, mut failed) = (Vec::new(), HashSet::<TenantId>::new());
    for (entry, confirm) in sent {
        if let Some(confirm) = confirm.filter(|_| !failed.contains(&entry.tenant)) {
            // a broken queue confirms nothing; unroutable messages are confirmed
            let confirmation = timeout(CONFIRM_LIMIT, confirm).await.ok().transpose()?;
            let is_taken = confirmation
                .is_some_and(|confirmation| confirmation.is_ack() && confirmation.take_message().is_none());
            if !is_taken {
                parts.broker.forget(entry.tenant);
                failed.insert(entry.tenant);
            }
        }
        if !failed.contains(&entry.tenant) {
            done.push(entry.id);
        }
    }
    parts.metrics.events_published(done.len());
    if !failed.is_empty() {
        tracing::warn!(tenants = ?failed, "the broker did not take events");
    }
    Ok((done, failed))
}

struct Outgoing {
    key: String,
    properties: BasicProperties,
    body: Value,
}

/// Returns the message of a row; none if there is nothing left to publish.
async fn message(entry: &Entry, urls: &mut Urls<'_>) -> sqlx::Result<Option<Outgoing>> {
    let tenant = entry.tenant;
    let (id, key, req_no, body) = match &entry.content {
        Content::Nothing => return Ok(None),
        Content::Refusal(refusal) => {
            let body = json!({
                "event": "rejected", "status": "rejected", "time": entry.at, "reqNo": refusal.req_no, "jobId": null,
                "problem": { "code": refusal.code, "message": refusal.detail },
            });
            (format!("rejected:{}", entry.id), format!("{tenant}.none.rejected"), refusal.req_no, body)
        }
        Content::Event(event) => {
            let Some(name) = name(event.kind) else { return Ok(None) };
            let result = match event.kind {
                EventType::Succeeded => Some(urls.result(tenant, event).await?),
                _ => None,
            };
            let task = task_type(event.task);
            let usage = event.cost.as_ref().filter(|_| event.state.is_ended());
            let usage = usage.map(
                |cost| json!({ "seconds": cost.seconds, "cost": cost.amount, "currency": cost.currency }),
            );
            let body = json!({
                "event": name, "eventNo": event.number, "time": entry.at, "reqNo": event.req_no, "jobId": event.job,
                "taskType": task, "status": event.state, "duplicate": event.again, "result": result,
                "problem": event.problem, "usage": usage,
            });
            (format!("{}:{}", event.job, event.number), format!("{tenant}.{task}.{name}"), event.req_no, body)
        }
        Content::Progress(event, progress) => {
            let task = task_type(event.task);
            let body = json!({
                "event": "progress", "eventNo": event.number, "time": entry.at, "reqNo": event.req_no, "jobId": event.job,
                "taskType": task, "status": event.state, "duplicate": false, "result": null, "problem": null,
                "usage": null, "progress": progress,
            });
            let id = format!("{}:progress:{}", event.job, entry.id);
            (id, format!("{tenant}.{task}.progress"), event.req_no, body)
        }
    };
    let mut properties = BasicProperties::default()
        .with_message_id(id.into())
        .with_content_type("application/json".into())
        .with_delivery_mode(PERSISTENT);
    if let Some(req_no) = req_no {
        properties = properties.with_correlation_id(req_no.to_string().into());
    }
    Ok(Some(Outgoing { key, properties, body }))
}

/// The name of an event in messages; none if it is not published.
fn name(kind: EventType) -> Option<&'static str> {
    Some(match kind {
        EventType::Submitted => "accepted",
        EventType::Started => "started",
        EventType::Requeued => "preempted",
        EventType::Succeeded => "succeeded",
        EventType::Failed => "failed",
        EventType::Cancelled => "cancelled",
        EventType::Expired => "expired",
        _ => return None,
    })
}

/// Signs URLs, until the storage service fails: events do not wait for it. Each result also has a path of the
/// API.
struct Urls<'a> {
    parts: &'a Parts,
    works: bool,
    until: Instant,
}

impl Urls<'_> {
    async fn result(&mut self, tenant: TenantId, event: &Event) -> sqlx::Result<Value> {
        let mut tx = self.parts.db.worker().await?;
        let results = artifact::results(&mut tx, tenant, event.job).await?;
        drop(tx);
        let mut artifacts = Vec::with_capacity(results.len());
        for result in &results {
            let signed = match self.works {
                true => self.sign(tenant, result).await,
                false => None,
            };
            artifacts.push(json!({
                "id": result.id, "name": result.name, "sha256": result.sha256, "bytes": result.bytes,
                "path": format!("/v1/jobs/{}/artifacts/{}/content", event.job, result.id),
                "url": signed.as_ref().map(|signed| &signed.url),
                "expires_at": signed.as_ref().map(|signed| signed.expires_at),
            }));
        }
        Ok(json!({ "id": event.job, "artifacts": artifacts }))
    }

    async fn sign(&mut self, tenant: TenantId, result: &artifact::Stored) -> Option<SignedUrl> {
        let error = match timeout_at(self.until, artifact::sign(&self.parts.artifact, tenant, result)).await {
            Ok(Ok(signed)) => return Some(signed),
            Ok(Err(artifact::Error::Gone)) => return None,
            Ok(Err(error)) => format!("{error:#}"),
            Err(late) => late.to_string(),
        };
        tracing::warn!(error, "no URLs of results");
        self.works = false;
        None
    }
}
