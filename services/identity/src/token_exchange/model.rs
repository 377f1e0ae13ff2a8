//! The request and the response of an exchange.

use std::net::IpAddr;

use ids::ApiKeyId;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A credential to exchange.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenExchange {
    /// An API key, or the secret in the console's cookie.
    #[schema(value_type = String, format = Password)]
    pub(super) credential: SecretString,
    /// Address of the client that sent it.
    #[schema(value_type = String)]
    pub(super) client_address: IpAddr,
}

/// An access token.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenGrant {
    /// The token.
    pub(crate) access_token: String,
    /// Seconds for which it is valid, 300 at most.
    pub(crate) expires_in: u32,
    /// Requests per second that the credential may make, at most, or null.
    pub(crate) requests_per_second: Option<u32>,
    /// The limits of the API keys that led to the key, against which its requests count as well.
    pub(crate) creators: Vec<KeyLimit>,
}

/// The limit of an API key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyLimit {
    /// The key.
    pub(crate) api_key_id: ApiKeyId,
    /// Requests per second that it and the keys that were created with it may make together, at most.
    pub(crate) requests_per_second: u32,
}
