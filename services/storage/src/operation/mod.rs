//! Operations: the records of long actions on storages. They outlive what they are about.

mod http;
mod store;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub(crate) use http::routes;
pub(crate) use store::{begin, cancel_open, finish, progress};

use crate::app::App;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Make.
    Create,
    /// Grow.
    Resize,
    /// Remove with all that is in it.
    Delete,
}

impl Kind {
    /// As it stands in an operation.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create_storage",
            Self::Resize => "resize_storage",
            Self::Delete => "delete_storage",
        }
    }
}

/// How often old idempotency keys are looked for.
const EVERY: Duration = Duration::from_secs(600);
/// Keys forgotten in one transaction, at most.
const AT_ONCE: u32 = 10_000;

/// Forgets idempotency keys that are a day old, until `token` is cancelled.
pub(crate) async fn clean_up(app: App, token: CancellationToken) {
    loop {
        let wait = match forget_old_keys(&app).await {
            Ok(0) => EVERY,
            Ok(forgotten) => {
                tracing::info!(forgotten, "old idempotency keys forgotten");
                // what is left after as many may be many more
                if forgotten >= AT_ONCE.into() { Duration::ZERO } else { EVERY }
            }
            Err(error) => {
                tracing::warn!(%error, "old idempotency keys are not forgotten");
                EVERY
            }
        };
        tokio::select! {
            biased;
            () = token.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn forget_old_keys(app: &App) -> sqlx::Result<u64> {
    let mut tx = app.db.worker().await?;
    let forgotten = api::idempotency::forget_old(&mut tx, AT_ONCE.into()).await?;
    tx.commit().await?;
    Ok(forgotten)
}
