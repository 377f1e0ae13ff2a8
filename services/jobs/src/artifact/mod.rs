//! Results of jobs: their bytes are in a bucket of the tenant, below `jobs/<job>/<attempt>/`. Workers upload and users
//! download them by signed URLs; the storage service signs those.

mod http;
mod model;
mod store;
mod sweep;
mod upload;

pub(crate) use http::{routes, sign};
pub(crate) use model::{Artifact, Report, read};
pub(crate) use store::{discard, insert, results};
pub(crate) use sweep::round as sweep;
pub(crate) use upload::{check_uploaded, routes as door_routes};
