//! Deployments: models on volumes of their tenant, where instances find them. The storage service copies the
//! files; the rows have the desired and the actual state.

mod http;
mod model;
mod reconcile;
mod store;

pub(crate) use http::routes;
pub use model::{DeploymentReason, DeploymentState};
pub use reconcile::round;
