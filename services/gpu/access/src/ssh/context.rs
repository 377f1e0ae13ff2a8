//! What a task of a channel needs.

use std::sync::Arc;

use api::ErrorChain;
use instances::instance::{self, Container, container_of};
use tokio_util::sync::CancellationToken;

use super::{Parts, admitted::Admitted, exec::not_running, server::Server};

/// What a task of a channel needs.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) app: Parts,
    pub(super) ssh: Arc<Server>,
    pub(super) admitted: Arc<Admitted>,
    /// Cancelled when the connection ends.
    pub(super) stop: CancellationToken,
}

impl Context {
    /// Finds the container of the instance, if it runs.
    ///
    /// # Errors
    /// Why there is none, as a sentence for the user.
    pub(super) async fn container(&self) -> Result<Container, String> {
        let right = &self.admitted.right;
        let found = async {
            let mut tx = self.app.db.tenant(right.tenant).await?;
            instance::store::find(&mut tx, right.tenant, right.instance).await
        };
        let found = found.await.map_err(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read the instance");
            "The service cannot read the instance at the moment. Connect again in a moment.".to_owned()
        })?;
        let Some(found) = found else { return Err("The instance was deleted.".to_owned()) };
        container_of(&self.app.clusters, &found).ok_or_else(|| not_running((&found.state).into()).to_owned())
    }
}
