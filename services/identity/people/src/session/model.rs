//! Sessions as clients see them.

use api::{Problem, ProblemType};
use auth::Role;
use ids::{SessionId, TenantId};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{tenant::TenantRef, user::User};

/// A session of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Session {
    /// Id of the session.
    pub(super) id: SessionId,
    /// Whether this is the session of the request.
    pub(super) current: bool,
    /// Whether it is the session of a browser, with a cookie instead of tokens.
    pub(super) cookie: bool,
    /// The tenant that the session acts for, or null.
    pub(super) tenant_id: Option<TenantId>,
    /// `User-Agent` of the client at sign-in, or null.
    pub(super) user_agent: Option<String>,
    /// Address of the client that last used the session, or null.
    pub(super) address: Option<String>,
    /// When the user signed in.
    pub(super) created_at: Timestamp,
    /// When the session was last used: to the minute with a cookie, else when it was last refreshed.
    pub(super) last_used_at: Timestamp,
    /// When the session ends, regardless of use.
    pub(super) expires_at: Timestamp,
}

/// The session has ended, or never existed.
#[derive(Debug, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionEnded;

impl From<SessionEnded> for Problem {
    fn from(_: SessionEnded) -> Self {
        Self::new(
            ProblemType::SessionEnded,
            "The refresh token or cookie is unknown, or its session has ended.",
        )
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum EndReason {
    /// The user signed out.
    SignedOut,
    /// A refresh token was used again after the grace period.
    TokenReused,
    /// The user's password changed.
    PasswordChanged,
    /// The user was disabled.
    UserDisabled,
    /// The user is no longer a member of the session's tenant.
    MembershipEnded,
    /// The user has since signed in too often without signing out.
    Displaced,
}

/// A refresh token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refresh {
    /// The newest refresh token of the session.
    #[schema(value_type = String, format = Password)]
    pub(super) refresh_token: SecretString,
    /// The tenant to act for from now on (default: the same as before).
    #[serde(default)]
    pub(super) tenant_id: Option<TenantId>,
}

/// A session's tokens.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionTokens {
    /// Send it as `Authorization: Bearer …`. Null for a session with a cookie.
    pub(super) access_token: Option<String>,
    /// Always `Bearer`.
    pub(super) token_type: &'static str,
    /// Seconds for which the access token is valid.
    pub(super) expires_in: u32,
    /// Exchange it once for new tokens at `/v1/sessions/refresh`. Null for a session with a cookie.
    pub(super) refresh_token: Option<String>,
    /// When the session ends, regardless of refreshes.
    pub(super) session_expires_at: Timestamp,
    /// The user who signed in.
    pub user: User,
    /// The tenant that the tokens are for.
    pub(super) tenant: Option<TenantRef>,
    /// The user's role in that tenant.
    pub(super) role: Option<Role>,
}
