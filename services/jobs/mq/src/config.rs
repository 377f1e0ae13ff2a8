//! The part of the configuration.

use std::net::SocketAddr;

use secrecy::SecretString;
use serde::Deserialize;

/// The message broker: RabbitMQ 3.10 or later, which authorizes its users at `auth_listen`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MqConfig {
    /// `amqp://user:password@host:port/%2f`, or `amqps://…`, of a user with all permissions in the virtual
    /// host.
    pub url: SecretString,
    /// Address to listen on for the broker's authorization requests. Only the broker needs to reach it.
    pub auth_listen: SocketAddr,
    /// Address of the broker for tenants, without a user.
    #[serde(default)]
    pub public_url: Option<String>,
    /// `http://user:password@host:15672` of the broker's management API, for a user with the tag `administrator`. With
    /// it, the broker limits the connections and channels of each credential, and connections of ended credentials are
    /// closed. Without it, they stay open: their messages are refused, but they can still read events.
    #[serde(default)]
    pub management_url: Option<SecretString>,
}
