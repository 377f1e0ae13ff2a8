//! Linking an account of a provider to a user who is signed in.

use api::{
    Problem,
    audit::{self, Actor},
};
use axum::http::StatusCode;
use ids::LinkedAccountId;
use people::{
    access::Holder,
    authority::{self, RecentSignIn},
    scope,
    session::{self, Sessions},
    user,
};
use sqlx::PgConnection;

use super::{Error, store};
use crate::{
    provider::{LinkIntent, Person, Provider},
    sign_in_method::{self, SignInMethods},
};

/// Links the person's account to the user of the intent, whose session must not have ended since.
///
/// # Errors
/// If the session has ended, the user is disabled, or the account belongs to another user.
pub(super) async fn link(
    sessions: &Sessions,
    provider: &Provider,
    person: &Person,
    intent: LinkIntent,
    request: &audit::Request,
) -> Result<(), Problem> {
    if !person.has(&provider.config.required_claims) {
        return Err(Error::NoAccount.into());
    }
    let mut tx = sessions.db.platform().await?;
    scope::user(&mut tx, intent.user).await?;
    let holder = Holder::find(&mut tx, intent.user).await?.ok_or(user::Error::Deleted)?;
    if holder.user.disabled {
        return Err(user::Error::Disabled.into());
    }
    if !session::is_open(&mut tx, intent.user, intent.session, sessions.clock.now()).await? {
        return Err(authority::Error::SignedOut.into());
    }
    let owner = store::put(&mut tx, &person.issuer, &person.subject, intent.user).await?;
    if owner != intent.user {
        return Err(Error::AccountTaken.into());
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

/// Removes an account of the caller, who must be able to sign in without it.
pub(super) async fn unlink(
    methods: &SignInMethods,
    recent: RecentSignIn,
    tx: &mut PgConnection,
    caller: &auth::Person,
    id: LinkedAccountId,
) -> Result<(), Problem> {
    recent.require(tx, caller).await?;
    let user = caller.principal.user;
    sign_in_method::lock(tx, user).await?;
    if !store::delete(tx, user, id).await? {
        return Err(Problem::not_found());
    }
    methods.check_one_remains(tx, user).await
}
