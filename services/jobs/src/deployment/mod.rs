//! Deployments: models laid onto volumes of their tenant, where instances find them. The storage service does it; the rows say
//! what users want, and what has become of it.

mod http;
mod model;
mod reconcile;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{DeploymentReason, DeploymentState};
pub(crate) use reconcile::round;
pub(crate) use store::delete_of_model;
