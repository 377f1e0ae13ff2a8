//! Deployments: models on volumes of their tenant, where instances find them. The storage service does it; the rows say
//! what users want, and what has become of it.

mod http;
mod model;
mod reconcile;
mod store;

pub(crate) use http::routes;
pub use model::{DeploymentReason, DeploymentState};
pub use reconcile::round;
