//! Logs unusable providers before somebody tries to sign in.

use std::sync::Arc;

use service::Round;

use super::Providers;

/// Logs an error for each unusable provider.
pub async fn check(providers: Arc<Providers>) -> anyhow::Result<Round> {
    for (provider, error) in providers.unusable().await {
        tracing::error!(provider, error = format!("{error:#}"), "nobody can sign in with the provider");
    }
    Ok(Round::Done)
}
