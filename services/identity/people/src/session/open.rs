//! Opening a session of an authenticated user.

use api::{
    Problem,
    audit::{self, Actor},
};
use auth::SessionSecret;
use axum::http::StatusCode;
use ids::{SessionId, TenantId};
use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    Sessions,
    client::Client,
    model::SessionTokens,
    store,
    tokens::{Issued, RefreshToken},
};
use crate::{
    access::{self, Holder},
    scope, user,
};

/// How a session is opened.
pub struct NewSession<'a> {
    /// The tenant to act for; none for the default.
    pub tenant: Option<TenantId>,
    /// Whether the session has a cookie instead of tokens.
    pub cookie: bool,
    pub client: &'a Client,
}

/// A session, and the secret for its cookie, if it has one.
pub struct Opened {
    issued: Issued,
    pub secret: Option<SessionSecret>,
}

impl Opened {
    /// The e-mail address of the user.
    pub fn email(&self) -> &str {
        &self.issued.holder.user.email
    }

    /// Records the sign-in in the audit log of the tenant for which the session acts, or of the platform. Call it last in the
    /// transaction.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn record(
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
    pub fn tokens(self, sessions: &Sessions) -> Result<(SessionTokens, Option<SessionSecret>), Problem> {
        Ok((self.issued.tokens(sessions)?, self.secret))
    }
}

/// Opens a session in the transaction, which must be in the scope of the user. If the user has reached the
/// limit of open sessions, it replaces the least recently used one, so that signing in without signing out,
/// as scripts do, does not lock anyone out.
///
/// # Errors
/// If the user is disabled; and as [`access::membership`].
pub async fn open(
    tx: &mut PgConnection,
    sessions: &Sessions,
    holder: Holder,
    new: &NewSession<'_>,
) -> Result<Opened, Problem> {
    if holder.user.disabled {
        return Err(user::Error::Disabled.into());
    }
    let session = SessionId::new();
    scope::session(tx, session).await?;
    let membership = access::membership(tx, holder.user.id, new.tenant).await??;
    // whole seconds, so that the response shows what is stored
    let now = Timestamp::from_second(sessions.clock.now().as_second()).map_err(Problem::internal)?;
    let session_expires_at = now + SignedDuration::from_secs(sessions.config.session_seconds.into());
    let secret = match new.cookie {
        true => {
            let random = aws_lc_rs::rand::fill;
            Some(SessionSecret::generate(session, random).map_err(Problem::internal)?)
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
    store::end_beyond(tx, &row, now, sessions.config.most_per_user).await?;
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
