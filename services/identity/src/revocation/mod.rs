//! Revocations: the feed by which all services learn that tokens are no longer valid.

mod http;

use std::time::Duration;

use auth::Revocation;
use feed::{Cursor, Outbox, Wait};
use ids::{SessionId, TenantId, UserId};
use service::{Round, Workers};
use sqlx::PgConnection;

use crate::{NAME, state::AppState};

pub(crate) use http::routes;

/// The outbox of revocations.
pub(crate) const OUTBOX: Outbox = Outbox { table: "revocations", channel: "identity_revocations" };

/// Rows deleted in one transaction, at most.
const BATCH: u32 = 1000;

/// Revokes all tokens of the user.
pub(crate) async fn of_user(tx: &mut PgConnection, user: UserId) -> sqlx::Result<()> {
    OUTBOX.publish(tx, &Revocation { user_id: Some(user), ..Revocation::default() }).await
}

/// Revokes the tokens of the user for the tenant.
pub(crate) async fn of_member(tx: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<()> {
    let revocation = Revocation { user_id: Some(user), tenant_id: Some(tenant), ..Revocation::default() };
    OUTBOX.publish(tx, &revocation).await
}

/// Revokes all tokens for the tenant.
pub(crate) async fn of_tenant(tx: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    OUTBOX.publish(tx, &Revocation { tenant_id: Some(tenant), ..Revocation::default() }).await
}

/// Revokes the tokens of the session.
pub(crate) async fn of_session(tx: &mut PgConnection, session: SessionId) -> sqlx::Result<()> {
    OUTBOX.publish(tx, &Revocation { session_id: Some(session), ..Revocation::default() }).await
}

/// Starts the workers: `identity.revocations.listen` wakes readers, `identity.revocations` applies the feed to this process.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    state.revocations.start(workers, "identity.revocations");
    let feed = state.revocations.clone();
    auth::HasAuth::auth(state).verifier.revocations().start(workers, NAME, move |after| {
        let feed = feed.clone();
        async move {
            // shutdown ends the worker itself
            let wait = Wait { at_most: auth::WAIT, stop: tokio_util::sync::CancellationToken::new() };
            Ok(feed.changes(&after.parse::<Cursor>()?, &wait).await?)
        }
    });
}

/// One round of the worker `identity.revocations.clean_up`.
pub(crate) async fn clean_up(state: &AppState) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    // a reader's pages overlap with this by an hour
    let age = auth::RETENTION + Duration::from_secs(3600);
    let deleted = OUTBOX.delete_old(&mut tx, age, BATCH).await?;
    tx.commit().await?;
    Ok(Round::of(deleted, BATCH.into()))
}
