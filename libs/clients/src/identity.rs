//! The identity service, as services call it that let users in by other credentials than access tokens, or by their
//! e-mail addresses.

use ids::{ApiKeyId, TenantId, UserId};
use jiff::Timestamp;
use reqwest::Method;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, NO_BODY, Peer};

/// Role of a user in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Creates, runs and deletes instances and storages.
    Member,
    /// Manages the members.
    Owner,
}

/// What a user may do in a tenant now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Rights {
    /// The user's role.
    pub role: Role,
    /// When it was read: any revocation of it is later.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

/// The account of a user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Account {
    /// The user.
    pub user: AccountUser,
}

/// The user of an account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct AccountUser {
    /// E-mail address.
    pub email: String,
}

/// A credential of a caller, to be exchanged for an access token.
#[derive(Clone, Serialize, ToSchema)]
pub struct TokenExchange {
    /// An API key, or the secret in the console's cookie.
    pub credential: String,
    /// Address of the client that sent it.
    pub client_address: String,
}

/// An access token.
#[derive(Clone, Deserialize, ToSchema)]
pub struct TokenGrant {
    /// The token.
    pub access_token: String,
    /// Seconds for which it is valid.
    pub expires_in: u32,
    /// Requests per second that the credential may make, at most.
    pub requests_per_second: Option<u32>,
    /// The limits of the API keys that led to the key, against which its requests count as well.
    #[serde(default)]
    pub creators: Vec<KeyLimit>,
}

/// The limit of an API key.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct KeyLimit {
    /// The key.
    pub api_key_id: ApiKeyId,
    /// Requests per second that it and the keys that were created with it may make together, at most.
    pub requests_per_second: u32,
}

/// Client of the identity service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Returns the role of a user in a tenant; none if the user would get no access token for it.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn rights(&self, tenant: TenantId, user: UserId) -> Result<Option<Rights>, Error> {
        let path = format!("/internal/v1/tenants/{tenant}/members/{user}");
        match self.0.call(Method::GET, &path, None, NO_BODY).await {
            Ok(rights) => Ok(Some(rights)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the account of the user whose access token is `subject`.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn account(&self, subject: &SecretString) -> Result<Account, Error> {
        self.0.call_for(Some(subject), Method::GET, "/v1/me", None, NO_BODY).await
    }

    /// Exchanges a credential for an access token.
    ///
    /// # Errors
    /// `api-key-invalid`, `session-ended` and `tenant-suspended` if it is refused, and the errors of every call.
    pub async fn exchange(&self, request: &TokenExchange) -> Result<TokenGrant, Error> {
        self.0.call(Method::POST, "/internal/v1/token-exchanges", None, Some(request)).await
    }
}
