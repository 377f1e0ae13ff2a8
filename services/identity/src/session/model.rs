//! Sessions as clients see them, and the choice of the tenant.

use auth::Role;
use ids::TenantId;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::Error,
    membership::Membership,
    passkey::Assertion,
    tenant::{TenantRef, TenantState},
    user::User,
};

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum EndReason {
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
    /// The user has signed in too often since without signing out.
    Displaced,
}

/// E-mail address and password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    /// E-mail address of the user.
    pub(super) email: String,
    /// The user's password.
    #[schema(value_type = String, format = Password)]
    pub(super) password: SecretString,
    /// The tenant to act for (default: the active tenant with the oldest membership, if any).
    #[serde(default)]
    pub(super) tenant_id: Option<TenantId>,
    /// A code of the authenticator app, or a recovery code, if the user has a second factor.
    #[serde(default)]
    pub(super) totp: Option<String>,
    /// In place of `totp`: a passkey of the user that has answered a challenge of `create_passkey_challenge`, as
    /// `PublicKeyCredential.toJSON()` writes it.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(super) passkey: Option<Assertion>,
    /// For browsers: the response sets a cookie instead of returning tokens. Requests with the cookie that change
    /// something must come from a page of the platform itself.
    #[serde(default)]
    pub(super) cookie: bool,
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
pub(crate) struct SessionTokens {
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
    pub(crate) user: User,
    /// The tenant that the tokens are for.
    pub(super) tenant: Option<TenantRef>,
    /// The user's role in that tenant.
    pub(super) role: Option<Role>,
}

/// Chooses the membership to act for: the requested one; otherwise the oldest in an active tenant, if any.
///
/// # Errors
/// If the user is not a member of the requested tenant, or it is suspended.
pub(super) fn choose(
    memberships: Vec<Membership>,
    requested: Option<TenantId>,
) -> Result<Option<Membership>, Error> {
    let Some(requested) = requested else {
        return Ok(memberships.into_iter().find(|m| m.state == TenantState::Active));
    };
    let membership = memberships.into_iter().find(|m| m.tenant.id == requested).ok_or(Error::NotAMember)?;
    match membership.state {
        TenantState::Active => Ok(Some(membership)),
        TenantState::Suspended | TenantState::Deleting => Err(Error::TenantSuspended),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership(state: TenantState) -> Membership {
        Membership {
            tenant: TenantRef { id: TenantId::new(), name: "t".to_owned() },
            state,
            role: Role::Member,
        }
    }

    #[test]
    fn the_oldest_active_tenant_is_the_default() {
        let all = vec![
            membership(TenantState::Suspended),
            membership(TenantState::Active),
            membership(TenantState::Active),
        ];
        assert_eq!(choose(all.clone(), None).unwrap().unwrap().tenant.id, all[1].tenant.id);
        assert!(choose(all[..1].to_vec(), None).unwrap().is_none());
        assert!(choose(Vec::new(), None).unwrap().is_none());
    }

    #[test]
    fn the_requested_tenant_must_be_active_and_the_users_own() {
        let all = vec![membership(TenantState::Suspended), membership(TenantState::Active)];
        let choose = |tenant| choose(all.clone(), Some(tenant));
        assert_eq!(choose(all[1].tenant.id).unwrap().unwrap().tenant.id, all[1].tenant.id);
        assert!(matches!(choose(all[0].tenant.id), Err(Error::TenantSuspended)));
        assert!(matches!(choose(TenantId::new()), Err(Error::NotAMember)));
    }
}
