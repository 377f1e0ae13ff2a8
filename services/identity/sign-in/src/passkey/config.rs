//! The configuration of passkeys.

use serde::Deserialize;
use url::Url;

/// Passkeys (WebAuthn).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyConfig {
    /// The domain to which passkeys belong: that of the console's pages, or one above it. If it changes, all registered
    /// passkeys become invalid.
    pub rp_id: String,
    /// Origins of the pages that use passkeys (default: that of `public_url`).
    #[serde(default)]
    pub origins: Vec<Url>,
}
