//! The verbs on stored objects, for any kind: create, update, patch, apply and delete, each one atomic step under the
//! store's lock. Knows neither HTTP nor the behaviour of kinds (scheduling, running pods).

pub(crate) mod create;
mod definition;
pub(crate) mod delete;
mod ingest;
pub(crate) mod patch;
mod strategic;
pub(crate) mod system;
pub(crate) mod update;

use std::sync::Arc;

use objects::store::Object;

/// The result of a write: the object, and warnings for the client.
pub(crate) struct Written {
    pub object: Arc<Object>,
    pub warnings: Vec<String>,
}
