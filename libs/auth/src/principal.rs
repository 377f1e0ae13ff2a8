//! Claims of access tokens, and the principal they describe.

use api::{Problem, ProblemType};
use ids::{ApiKeyId, SessionId, TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{revocation::Grant, scope::Scopes};

/// Role of a user in a tenant. Each role includes the rights of those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, sqlx::Type, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Creates, runs and deletes instances and storages.
    Member,
    /// Manages the members.
    Owner,
}

impl Role {
    /// Returns the role with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "viewer" => Some(Self::Viewer),
            "member" => Some(Self::Member),
            "owner" => Some(Self::Owner),
            _ => None,
        }
    }
}

/// The claims of an access token of the identity service (RFC 9068 where it applies).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Claims {
    /// Issuer.
    pub iss: String,
    /// Audience.
    pub aud: String,
    /// The user.
    pub sub: UserId,
    /// The tenant that the token is for; absent for an administrator who acts for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<TenantId>,
    /// The user's role in that tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Whether the user is a platform administrator.
    #[serde(default)]
    pub adm: bool,
    /// The session that the token belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<SessionId>,
    /// Scopes of the token, separated by spaces; absent if it may be used for everything that its role
    /// allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The API key that was exchanged for the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ApiKeyId>,
    /// Whether the requests of the API key, or of one that led to it, are limited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
    /// Issued at, Unix time in seconds with a fraction: compared with the time of revocations.
    pub iat: f64,
    /// Expires at, Unix time in seconds.
    pub exp: i64,
    /// Id of the token.
    pub jti: String,
}

/// The verified caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The user.
    pub user: UserId,
    /// The tenant for which the user acts, and the user's role in it.
    pub tenant: Option<(TenantId, Role)>,
    /// Whether the user is a platform administrator.
    pub admin: bool,
    /// The session of the token, or the one that represents the API key ([`crate::session_of`]); none for
    /// tokens of other issuers.
    pub session: Option<SessionId>,
    /// Scopes of the token; none if it may be used for everything that its role allows.
    pub scopes: Option<Scopes>,
    /// The API key that was exchanged for the token.
    pub api_key: Option<ApiKeyId>,
    /// Whether the requests of the API key are limited.
    pub limited: bool,
    /// When the token was issued.
    pub issued_at: Timestamp,
    /// When the token expires.
    pub expires_at: Timestamp,
}

impl Principal {
    /// Returns the revocable rights of the token.
    #[must_use]
    pub fn grant(&self) -> Grant {
        let tenant = self.tenant.map(|(tenant, _)| tenant);
        Grant { user: self.user, tenant, session: self.session, issued_at: self.issued_at }
    }

    /// Returns the session of the person who sends the request.
    ///
    /// # Errors
    /// Returns 403 for an API key, and for any other token that was not issued to act as the person in full; 401 without a
    /// session.
    pub fn person(&self) -> Result<SessionId, Problem> {
        if self.api_key.is_some() || self.scopes.is_some() {
            let detail =
                "Only a person who has signed in may do this. API keys may not, whatever their scopes.";
            return Err(Problem::new(ProblemType::PersonRequired, detail));
        }
        self.session.ok_or_else(|| Problem::unauthenticated("The token belongs to no session."))
    }

    /// Returns the tenant, if the user has at least `role` in it.
    ///
    /// # Errors
    /// Returns 403 without a tenant or with a lesser role.
    pub fn tenant_as(&self, role: Role) -> Result<TenantId, Problem> {
        match self.tenant {
            Some((tenant, has)) if has >= role => Ok(tenant),
            Some((_, has)) => Err(Problem::forbidden(format!(
                "This needs the role {role:?} in the tenant; yours is {has:?}."
            ))
            .next("Ask an owner of the tenant to change your role.")),
            None => Err(Problem::forbidden("Your token is not for a tenant.")
                .next("Sign in with `tenant_id` of a tenant you are a member of.")),
        }
    }
}
