//! The first administrator, from the configuration. Only an administrator can create users.

use std::time::Duration;

use api::audit;
use axum::http::StatusCode;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{model::default_display_name, store};
use crate::{NAME, config::BootstrapAdmin, error::Error, state::AppState};

const RETRY: Duration = Duration::from_secs(1);

/// The worker `identity.bootstrap`: creates the administrator if the platform has none, retries until the database
/// answers, then waits for shutdown. The service is ready only once this has succeeded.
pub(crate) async fn bootstrap(
    state: &AppState,
    admin: &BootstrapAdmin,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    while let Err(error) = create(state, admin).await {
        tracing::warn!(error = %api::ErrorChain(&error), "cannot create the first administrator");
        if shutdown.run_until_cancelled(tokio::time::sleep(RETRY)).await.is_none() {
            return Ok(());
        }
    }
    state.set_bootstrapped();
    shutdown.cancelled().await;
    Ok(())
}

async fn create(state: &AppState, admin: &BootstrapAdmin) -> Result<(), Error> {
    let mut tx = state.db.platform().await?;
    let exists = store::count_admins(&mut tx).await? > 0;
    tx.commit().await?;
    if exists {
        return Ok(());
    }
    let hash = state.hasher.permit().await?.hash(admin.password.clone()).await?;
    let mut tx = state.db.platform().await?;
    store::lock_admins(&mut tx).await?;
    if store::count_admins(&mut tx).await? == 0 {
        let email = api::email::canonical(&admin.email);
        let name = default_display_name(&email);
        match store::insert(&mut tx, &email, name, true, &hash, true).await? {
            Some(user) => {
                let path = format!("/v1/users/{}", user.id);
                audit::Request::of_program(NAME, "bootstrap_admin", path.clone(), None)
                    .record(&mut tx, StatusCode::CREATED, Some(&path), &json!({ "email": "", "admin": true }))
                    .await?;
                tracing::info!(user.id = %user.id, "first administrator created");
            }
            None => tracing::error!("bootstrap_admin.email belongs to a user who is not an administrator"),
        }
    }
    Ok(tx.commit().await?)
}
