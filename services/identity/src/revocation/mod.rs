//! Revocations: the feed by which all services learn that tokens are no longer valid.

mod http;
pub(crate) mod store;

use std::time::Duration;

use feed::{Cursor, Wait};
use service::{Round, Workers};

use crate::{NAME, state::AppState};

pub(crate) use http::routes;
pub(crate) use store::{of_member, of_session, of_tenant, of_user};

/// Rows deleted in one transaction, at most.
const BATCH: u32 = 1000;

/// Starts the workers: `identity.revocations.listen` wakes readers, `identity.revocations` applies the feed to this process.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    state.revocations.start(workers, "identity.revocations");
    let feed = state.revocations.clone();
    auth::HasAuth::auth(state).verifier.revocations().start(workers, NAME, move |after| {
        let feed = feed.clone();
        async move {
            // shutdown ends the worker itself
            let wait = Wait { at_most: auth::WAIT, stop: tokio_util::sync::CancellationToken::new() };
            Ok(feed.changes(&after.parse::<Cursor>()?.into(), &wait).await?)
        }
    });
}

/// One round of the worker `identity.revocations.clean_up`.
pub(crate) async fn clean_up(state: &AppState) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    // a reader's pages overlap with this by an hour
    let age = auth::RETENTION + Duration::from_secs(3600);
    let deleted = store::OUTBOX.delete_old(&mut tx, age, BATCH).await?;
    tx.commit().await?;
    Ok(Round::of(deleted, BATCH.into()))
}
