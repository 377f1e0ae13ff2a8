//! Rights of users, and access tokens for other credentials.

use std::net::IpAddr;

use auth::Role;
use ids::ApiKeyId;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

/// The current rights of a user in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rights {
    /// The user's role.
    pub role: Role,
    /// When the role was read. Earlier revocations are already included.
    pub as_of: Timestamp,
}

/// A credential of a caller, to be exchanged for an access token.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenExchange {
    /// An API key, or the secret in the console's cookie.
    #[serde(serialize_with = "expose")]
    #[schema(value_type = String, format = Password)]
    pub credential: SecretString,
    /// Address of the client that sent it.
    #[schema(value_type = String)]
    pub client_address: IpAddr,
}

fn expose<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

/// An access token.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenGrant {
    /// The token.
    pub access_token: String,
    /// Seconds for which it is valid, at most 300.
    pub expires_in: u32,
    /// Maximum number of requests per second of the credential, or null.
    pub requests_per_second: Option<u32>,
    /// The limits of the API keys that created the key, directly or through other keys. Its requests count against
    /// them, too.
    pub creators: Vec<KeyLimit>,
}

/// The limit of an API key.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct KeyLimit {
    /// The key.
    pub api_key_id: ApiKeyId,
    /// Maximum number of requests per second of the key and the keys created with it together.
    pub requests_per_second: u32,
}
