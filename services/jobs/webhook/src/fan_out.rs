//! Turns events into deliveries. Each replica reads the feed; of the replicas that have read the same page,
//! only the first writes.

use std::time::Duration;

use db::Db;
use feed::{Change, Changes, Cursor, Feed, Outbox, Wait};
use ids::{DeliveryId, TenantId};
use jiff::Timestamp;
use jobs_core::event::{Advance, EventType, JobEvent};
use serde_json::json;
use sqlx::PgConnection;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    deliveries::{self, NewDelivery},
    store::{self, Target},
};

/// The events of tenants that have webhooks.
pub(super) const EVENTS: Outbox = Outbox { table: "webhook_event_feed", channel: "job_event_feed" };

/// How long a read of the feed waits for events.
const WAIT: Duration = Duration::from_secs(20);
/// How often the position is stored while there are no events.
const STORE: Duration = Duration::from_secs(600);

/// Follows the feed until the process stops. The first time it begins with the next event.
pub(super) async fn run(db: &Db, feed: &Feed, stop: &CancellationToken) -> anyhow::Result<()> {
    let mut tx = db.worker().await?;
    let end = EVENTS.end(&mut tx).await?;
    deliveries::begin(&mut tx, &end).await?;
    tx.commit().await?;
    let wait = Wait { at_most: WAIT, stop: stop.clone() };
    while !stop.is_cancelled() {
        let mut tx = db.worker().await?;
        let position = deliveries::position(&mut tx).await?;
        drop(tx);
        let mut after: Cursor = position.parse()?;
        let read_at = Instant::now();
        // a position without later events is stored rarely
        let changes = loop {
            let changes = feed.changes::<JobEvent>(&after.into(), &wait).await?;
            if !changes.items.is_empty() || read_at.elapsed() >= STORE || stop.is_cancelled() {
                break changes;
            }
            after = changes.next_cursor.parse()?;
        };
        let mut tx = db.worker().await?;
        if write(&mut tx, &position, changes).await? {
            tx.commit().await?;
        }
    }
    Ok(())
}

/// Writes the deliveries of the events after a position. False if another replica has done so.
async fn write(conn: &mut PgConnection, after: &str, changes: Changes<JobEvent>) -> sqlx::Result<bool> {
    if !deliveries::advance(conn, after, &changes.next_cursor).await? {
        return Ok(false);
    }
    let mut tenants: Vec<TenantId> = changes.items.iter().map(|item| item.change.tenant_id).collect();
    tenants.sort_unstable();
    tenants.dedup();
    let targets = store::targets(conn, &tenants).await?;
    let new: Vec<NewDelivery> = changes.items.iter().flat_map(|item| of_event(item, &targets)).collect();
    if !new.is_empty() {
        deliveries::insert(conn, &new).await?;
    }
    Ok(true)
}

fn of_event(item: &Change<JobEvent>, targets: &[Target]) -> impl Iterator<Item = NewDelivery> {
    let event = &item.change;
    let wanted = targets.iter().filter(|target| target.wants(event.tenant_id, event.kind, event.time));
    wanted.map(move |target| NewDelivery {
        id: DeliveryId::new(),
        webhook: target.id,
        tenant: target.tenant,
        message: event.id.clone(),
        kind: event.kind.as_str(),
        body: body(event.kind.as_str(), event.time, &json!(event)),
    })
}

/// Writes the deliveries of a job's progress.
pub async fn tell_progress(conn: &mut PgConnection, advance: &Advance, now: Timestamp) -> sqlx::Result<()> {
    let Advance { tenant, job, event, progress } = advance;
    let (kind, message) = (EventType::Progress, format!("{job}-{event}-{}", progress.step));
    let data = json!({ "id": message, "time": now, "type": kind, "tenant_id": tenant, "job_id": job, "progress": progress });
    let targets = store::targets(conn, &[*tenant]).await?;
    let wanted = targets.iter().filter(|target| target.wants(*tenant, kind, now));
    let new: Vec<NewDelivery> = wanted
        .map(|target| NewDelivery {
            id: DeliveryId::new(),
            webhook: target.id,
            tenant: *tenant,
            message: message.clone(),
            kind: kind.as_str(),
            body: body(kind.as_str(), now, &data),
        })
        .collect();
    match new[..] {
        [] => Ok(()),
        _ => deliveries::insert(conn, &new).await,
    }
}

/// The body of a message.
pub(super) fn body(kind: &str, time: Timestamp, data: &serde_json::Value) -> String {
    json!({ "type": kind, "timestamp": time, "data": data }).to_string()
}
