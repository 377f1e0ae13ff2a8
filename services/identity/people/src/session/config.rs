//! The configuration of sessions.

use serde::Deserialize;

/// Lifetimes of tokens and sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// Lifetime of an access token (default 600).
    pub access_token_seconds: u32,
    /// Lifetime of a session, regardless of refreshes (default 30 days).
    pub session_seconds: u32,
    /// How long a used refresh token is accepted again, because the response to its first use was lost or two tabs
    /// sent it at once (default 10). Afterwards it counts as stolen.
    pub reuse_grace_seconds: u32,
    /// Maximum number of sessions of a user (default 100). A further sign-in ends the least recently used ones.
    pub most_per_user: u32,
    /// Seconds after the sign-in within which a person may add and remove ways to sign in (default 900). Later, they
    /// have to sign in again first.
    pub recent_seconds: u32,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            access_token_seconds: 600,
            session_seconds: 30 * 24 * 3600,
            reuse_grace_seconds: 10,
            most_per_user: 100,
            recent_seconds: 900,
        }
    }
}

impl SessionConfig {
    /// # Errors
    /// If a revocation could be forgotten while a token that it revokes is still valid.
    pub fn check(&self) -> anyhow::Result<()> {
        let longest = auth::RETENTION.as_secs() - auth::LEEWAY;
        anyhow::ensure!(
            (1..longest).contains(&self.access_token_seconds.into()),
            "sessions.access_token_seconds must be at least 1 and less than {longest}: revocations are kept for a day"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_outlives_its_revocation() {
        let sessions =
            |access_token_seconds| SessionConfig { access_token_seconds, ..SessionConfig::default() };
        assert!(SessionConfig::default().check().is_ok());
        assert!(sessions(0).check().is_err());
        assert!(sessions(24 * 3600 - 6).check().is_ok());
        assert!(sessions(24 * 3600 - 5).check().is_err());
    }
}
