//! Logs providers that do not work, before somebody tries to sign in.

use std::sync::Arc;

use service::Round;

use super::Providers;

/// Logs an error for each provider that does not work.
pub async fn check(providers: Arc<Providers>) -> anyhow::Result<Round> {
    for (provider, error) in providers.unusable().await {
        tracing::error!(provider, error = format!("{error:#}"), "nobody can sign in with the provider");
    }
    Ok(Round::Done)
}
