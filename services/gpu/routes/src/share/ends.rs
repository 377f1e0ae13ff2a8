//! Deletes links whose creators have lost the rights with which they made them. Revocations are known for a
//! day; without this, a link would work again after that.

use std::time::Duration;

use auth::Refused;
use service::{Duty, Round, Task};

use super::{Parts, store};

const PERIOD: Duration = Duration::from_secs(60);
/// Links read at a time.
const BATCH: i64 = 1000;

/// The task that does it.
pub fn task(state: &Parts) -> Task {
    Task::every("share_links", Duty::Retention, PERIOD.min(state.db.heal()), state, |state| async move {
        end(&state).await?;
        Ok(Round::Done)
    })
}

async fn end(state: &Parts) -> sqlx::Result<()> {
    let revocations = state.verifier.revocations();
    let mut after = None;
    loop {
        let mut tx = state.db.worker().await?;
        let links = store::all(&mut tx, after, BATCH).await?;
        let Some(last) = links.last() else { return Ok(()) };
        after = Some(last.id);
        let is_over = |link: &&store::OpenedLink| revocations.check(&link.grant()) == Err(Refused::Revoked);
        let over: Vec<_> = links.iter().filter(is_over).map(|link| link.id).collect();
        if !over.is_empty() {
            store::delete_all(&mut tx, &over).await?;
            tx.commit().await?;
        }
    }
}
