//! In which datacenters code of tenants runs: images of their own, and their programs in images of the catalogue. The policy is
//! a setting of each cluster's operator, which reports with each unit whether it runs such code.

mod http;
mod model;
mod places;

pub(crate) use http::routes;
pub(crate) use model::{NotIsolated, explain};
pub use model::{check, datacenters, limit};
pub(crate) use places::places;
