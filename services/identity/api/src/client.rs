//! Calls of the identity service.

use ids::{TenantId, UserId};
use peer::{Endpoint, Error, NO_BODY, Peer};
use reqwest::Method;
use secrecy::SecretString;

use crate::{Account, Rights, TokenExchange, TokenGrant};

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
