//! Opening a session of a user who has proved who they are.

use api::audit::{self, Actor};
use auth::SessionSecret;
use axum::http::StatusCode;
use ids::{SessionId, TenantId};
use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    client::Client,
    model::SessionTokens,
    rights::{self, Holder},
    store,
    tokens::{Issued, RefreshToken},
};
use crate::{error::Error, scope, state::AppState};

/// How a session is opened.
pub(crate) struct NewSession<'a> {
    /// The tenant to act for; none for the default.
    pub(crate) tenant: Option<TenantId>,
    /// Whether a cookie takes the place of tokens.
    pub(crate) cookie: bool,
    pub(crate) client: &'a Client,
}

/// A session, and the secret for its cookie, if it has one.
pub(crate) struct Opened {
    issued: Issued,
    pub(crate) secret: Option<SessionSecret>,
}

impl Opened {
    /// The e-mail address of the user.
    pub(crate) fn email(&self) -> &str {
        &self.issued.holder.user.email
    }

    /// Records the sign-in in the audit log of the tenant for which the session acts, or of the platform. Call it last in the
    /// transaction.
    ///
    /// # Errors
    /// If the database fails.
    pub(crate) async fn record(
        &self,
        tx: &mut PgConnection,
        request: &audit::Request,
        status: StatusCode,
    ) -> sqlx::Result<()> {
        if let Some(membership) = &self.issued.membership {
            scope::tenant(tx, membership.tenant.id).await?;
        }
        let user = &self.issued.holder.user;
        let actor = Actor {
            user: Some(user.id),
            session: Some(self.issued.session),
            is_admin: user.admin,
            ..Actor::default()
        };
        request.by(actor).record(tx, status, None, &()).await
    }

    /// Returns the session's tokens and the secret for its cookie.
    ///
    /// # Errors
    /// If no signing key is active.
    pub(crate) fn tokens(self, state: &AppState) -> Result<(SessionTokens, Option<SessionSecret>), Error> {
        Ok((self.issued.tokens(state)?, self.secret))
    }
}

/// Opens a session in the transaction, which must be in the scope of the user. If the user has as many as may be open at a time, it
/// takes the place of the one that was not used for longest: whoever signs in without signing out, as scripts do, is not locked out.
///
/// # Errors
/// If the user is disabled; and as [`rights::membership`].
pub(crate) async fn open(
    tx: &mut PgConnection,
    state: &AppState,
    holder: Holder,
    new: &NewSession<'_>,
) -> Result<Opened, Error> {
    if holder.user.disabled {
        return Err(Error::UserDisabled);
    }
    let session = SessionId::new();
    scope::session(tx, session).await?;
    let membership = rights::membership(tx, holder.user.id, new.tenant).await?;
    // whole seconds, so that the response shows what is stored
    let now = Timestamp::from_second(state.now().as_second()).map_err(anyhow::Error::from)?;
    let session_expires_at = now + SignedDuration::from_secs(state.config.sessions.session_seconds.into());
    let secret = match new.cookie {
        true => {
            let random = aws_lc_rs::rand::fill;
            Some(SessionSecret::generate(session, random).map_err(anyhow::Error::from)?)
        }
        false => None,
    };
    let row = store::NewSession {
        id: session,
        user: holder.user.id,
        tenant: membership.as_ref().map(|membership| membership.tenant.id),
        expires_at: session_expires_at,
        cookie_hash: secret.as_ref().map(|secret| secret.hash().to_vec()),
        client: new.client,
    };
    store::insert(tx, &row).await?;
    store::end_beyond(tx, &row, now, state.config.sessions.most_per_user).await?;
    let refresh_token = match new.cookie {
        true => None,
        false => {
            let token = RefreshToken::generate(session)?;
            store::insert_token(tx, session, &token.hash()).await?;
            Some(token)
        }
    };
    Ok(Opened { issued: Issued { holder, membership, session, refresh_token, session_expires_at }, secret })
}
