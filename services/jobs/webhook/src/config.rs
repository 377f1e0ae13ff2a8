//! The part of the configuration.

use serde::Deserialize;

/// Where webhooks may be sent. Both are for development and tests.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// Whether to allow URLs that begin with `http:`.
    pub allow_http: bool,
    /// Whether to allow addresses of this machine and of private networks.
    pub allow_private: bool,
}
