//! The first administrator, from the configuration: without one nobody could make users.

use std::time::Duration;

use api::Problem;
use tokio_util::sync::CancellationToken;

use super::store;
use crate::{app::App, config::BootstrapAdmin};

/// Makes the administrator when there is none; tries until the database answers. The service is ready
/// only afterwards.
pub(crate) async fn bootstrap(app: App, admin: BootstrapAdmin, end: CancellationToken) {
    while let Err(problem) = once(&app, &admin).await {
        let cause = std::error::Error::source(&problem).map(ToString::to_string);
        tracing::warn!(%problem, cause, "the first administrator could not be made yet");
        tokio::select! {
            () = end.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
    app.set_bootstrapped();
}

async fn once(app: &App, admin: &BootstrapAdmin) -> Result<(), Problem> {
    let mut tx = app.db.platform().await?;
    let there = store::admins(&mut tx).await? > 0;
    tx.commit().await?;
    if there {
        return Ok(());
    }
    let hash = app.hasher.turn().await?.hash(admin.password.clone()).await?;
    let mut tx = app.db.platform().await?;
    store::lock_admins(&mut tx).await?;
    if store::admins(&mut tx).await? == 0 {
        let name = admin.email.split('@').next().unwrap_or(&admin.email);
        match store::insert(&mut tx, &admin.email, name, true, &hash).await? {
            Some(user) => tracing::info!(user.id = %user.id, "first administrator made"),
            None => tracing::error!("bootstrap_admin.email belongs to a user who is no administrator"),
        }
    }
    tx.commit().await?;
    Ok(())
}
