//! What handlers and workers share.

use std::{ops::Deref, sync::Arc};

use auth::{AuthState, HasAuth, Verifier};
use crds::Clusters;
use db::Db;

use crate::{config::Config, faults::Faults, object_store::ObjectStore};

/// The parts that handlers and workers share. Clones share them.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Inner>);

/// The fields of [`AppState`].
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) object_store: Option<ObjectStore>,
    pub(crate) faults: Faults,
    auth: AuthState,
}

impl AppState {
    /// Opens pools and clients. Neither the database nor a cluster nor the object store needs to answer yet.
    pub(crate) fn new(config: Config, faults: Faults) -> anyhow::Result<Self> {
        let http = service::http_client()?;
        Ok(Self(Arc::new(Inner {
            db: Db::connect(crate::NAME, &config.database)?,
            clusters: Clusters::new(&config.clusters),
            object_store: config.object_store.clone().map(|config| ObjectStore::new(config, http.clone())),
            faults,
            auth: AuthState {
                verifier: Verifier::new(config.auth.clone(), http),
                callers: Arc::new(config.callers.clone()),
            },
            config,
        })))
    }
}

impl Deref for AppState {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}
