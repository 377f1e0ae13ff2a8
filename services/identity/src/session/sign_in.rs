//! Making a session from a password.

use api::{Problem, ProblemType};
use ids::SessionId;
use jiff::{SignedDuration, Timestamp};

use super::{
    model::{Credentials, RefreshToken, SessionTokens, choose, tokens},
    store,
    throttle::Guess,
};
use crate::{app::App, membership, scope, user};

/// The same answer, after the same work, for an unknown address and a wrong password.
fn refused() -> Problem {
    Problem::new(ProblemType::WrongCredentials, "No user has this address and this password.")
}

/// # Errors
/// 401, 403 (disabled; not a member; suspended tenant), 429.
pub(super) async fn sign_in(app: &App, credentials: Credentials) -> Result<SessionTokens, Problem> {
    // the turn is taken first: so tries beyond the limit cannot slip by side by side
    let turn = app.hasher.turn().await?;
    let guess = Guess::begin(app, &credentials.email).await?;
    let mut tx = app.db.platform().await?;
    let found = user::sign_in(&mut tx, &credentials.email).await?;
    tx.commit().await?;
    let hash = found.as_ref().map(|found| found.password_hash.clone());
    let right = turn.verify(credentials.password, hash).await?;
    let Some(user::SignIn { id, password_hash }) = found.filter(|_| right) else {
        guess.wrong(app).await?;
        return Err(refused());
    };
    guess.right(app).await?;

    let session = SessionId::new();
    let refresh = RefreshToken::generate(session)?;
    // whole seconds: what is answered now is what is stored
    let expires_at = Timestamp::from_second(Timestamp::now().as_second()).map_err(Problem::internal)?
        + SignedDuration::from_secs(app.config.sessions.session_seconds.into());
    let mut tx = app.db.platform().await?;
    scope::user(&mut tx, id).await?;
    scope::session(&mut tx, session).await?;
    // a password that was changed meanwhile has ended its sessions: it opens none after that
    let user = user::find_with_password(&mut tx, id, &password_hash).await?.ok_or_else(refused)?;
    if user.disabled {
        return Err(Problem::new(ProblemType::UserDisabled, "An administrator has disabled this account."));
    }
    let membership = choose(membership::of_user(&mut tx, id).await?, credentials.tenant_id)?;
    store::insert(&mut tx, session, id, membership.as_ref().map(|m| m.tenant.id), expires_at).await?;
    store::insert_token(&mut tx, session, &refresh.hash()).await?;
    tx.commit().await?;
    tokens(app, user, membership, &refresh, expires_at)
}
