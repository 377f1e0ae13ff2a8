//! Revocations: the feed by which all services learn that tokens are no longer valid.

mod http;
mod store;

use std::time::Duration;

use auth::Verifier;
use db::Db;
use feed::{Cursor, Feed, Wait};
use service::{Round, Task};

pub use http::routes;
pub use store::{OUTBOX, of_member, of_session, of_tenant, of_user};

/// Returns the feed of revocations.
pub fn feed(db: &Db) -> Feed {
    Feed::new(db, OUTBOX)
}

/// Maximum number of rows deleted in one transaction.
const BATCH: u32 = 1000;

/// The tasks that wake readers of the feed, and apply it to this process.
pub fn tasks(feed: &Feed, verifier: &Verifier) -> [Task; 2] {
    let read = feed.clone();
    let apply = verifier.revocations().task(move |after| {
        let feed = read.clone();
        async move {
            // shutdown ends the task itself
            let wait = Wait { at_most: auth::WAIT, stop: tokio_util::sync::CancellationToken::new() };
            Ok(feed.changes(&after.parse::<Cursor>()?.into(), &wait).await?)
        }
    });
    [feed.task("revocation_feed"), apply]
}

/// Deletes revocations that concern no valid token any more.
pub async fn clean_up(db: Db) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    // a reader's pages overlap with this by an hour
    let age = auth::RETENTION + Duration::from_secs(3600);
    let deleted = OUTBOX.delete_old(&mut tx, age, BATCH).await?;
    tx.commit().await?;
    Ok(Round::of(deleted, BATCH.into()))
}
