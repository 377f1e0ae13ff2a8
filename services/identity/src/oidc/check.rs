//! The worker `identity.oidc_providers`: says with which providers nobody can sign in, before somebody tries.

use service::Round;

use crate::state::AppState;

/// One round.
pub(crate) async fn check(state: &AppState) -> Round {
    for (provider, error) in state.oidc.unusable().await {
        tracing::error!(provider, error = format!("{error:#}"), "nobody can sign in with the provider");
    }
    Round::Done
}
