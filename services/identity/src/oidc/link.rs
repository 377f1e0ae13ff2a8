//! Linking an account of a provider to a user who is signed in.

use api::audit::{self, Actor};
use axum::http::StatusCode;
use ids::{LinkedAccountId, SessionId, UserId};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{model::Person, provider::Provider, store};
use crate::{
    authority,
    error::Error,
    scope,
    session::{self, Holder},
    state::AppState,
    user,
};

/// Who wants to link an account, and in which session. Part of the encrypted cookie of the browser that began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinkIntent {
    user: UserId,
    session: SessionId,
}

impl LinkIntent {
    /// The intent of a person.
    pub(super) fn of(person: &auth::Person) -> Self {
        Self { user: person.principal.user, session: person.session }
    }
}

/// Links the person's account to the user of the intent, whose session must not have ended since.
///
/// # Errors
/// If the session has ended, the user is disabled, or the account belongs to another user.
pub(super) async fn link(
    state: &AppState,
    provider: &Provider,
    person: &Person,
    intent: LinkIntent,
    request: &audit::Request,
) -> Result<(), Error> {
    if !person.has(&provider.config.required_claims) {
        return Err(Error::NoAccount);
    }
    let mut tx = state.db.platform().await?;
    scope::user(&mut tx, intent.user).await?;
    let holder = Holder::find(&mut tx, intent.user).await?.ok_or(Error::UserDeleted)?;
    if holder.user.disabled {
        return Err(Error::UserDisabled);
    }
    if !session::is_open(&mut tx, intent.user, intent.session, state.now()).await? {
        return Err(Error::SignedOut);
    }
    let owner = store::put(&mut tx, &person.issuer, &person.subject, intent.user).await?;
    if owner != intent.user {
        return Err(Error::AccountTaken);
    }
    let actor = Actor {
        user: Some(intent.user),
        session: Some(intent.session),
        is_admin: holder.user.admin,
        ..Actor::default()
    };
    request.by(actor).record(&mut tx, StatusCode::SEE_OTHER, None, &()).await?;
    tx.commit().await?;
    tracing::info!(user.id = %intent.user, provider = provider.config.id, "account linked");
    Ok(())
}

/// Removes an account of the caller, who can sign in without it.
pub(super) async fn unlink(
    state: &AppState,
    tx: &mut PgConnection,
    caller: &auth::Person,
    id: LinkedAccountId,
) -> Result<(), Error> {
    authority::signed_in_recently(state, tx, caller).await?;
    let user = caller.principal.user;
    user::lock_ways_to_sign_in(tx, user).await?;
    if !store::delete(tx, user, id).await? {
        return Err(Error::NotFound);
    }
    user::check_can_sign_in(state, tx, user).await
}
