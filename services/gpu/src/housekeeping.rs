//! Deletes what is too old, of several slices.

use std::time::Duration;

use access::ssh;
use db::Db;
use routes::{route, share};
use service::Round;

/// Time between two clean-ups.
pub(crate) const PERIOD: Duration = Duration::from_secs(300);
/// Events deleted in one transaction, which locks the logs of their tenants.
pub(crate) const EVENTS: u32 = 1000;
/// Rows of one kind deleted in one round.
const DELETED: i64 = 10_000;
/// The same for changes of routes.
const CHANGES_DELETED: u32 = 10_000;

pub(crate) async fn clean_up(db: Db) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    let tickets = route::store::delete_expired_tickets(&mut tx, DELETED).await?;
    let links = share::store::delete_expired(&mut tx, DELETED).await?;
    let link_tickets = share::personal_store::delete_expired_tickets(&mut tx, DELETED).await?;
    let changes = route::OUTBOX.delete_old(&mut tx, route::RETENTION, CHANGES_DELETED).await?;
    let keys = api::idempotency::forget_old(&mut tx, DELETED).await?;
    let operations = operations::prune(&mut tx, DELETED).await?;
    let sessions = ssh::store::delete_old_sessions(&mut tx, DELETED).await?;
    tx.commit().await?;
    let most = tickets.max(links).max(link_tickets).max(changes).max(keys).max(operations).max(sessions);
    Ok(Round::of(most, DELETED.unsigned_abs()))
}
