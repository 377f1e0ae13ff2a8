//! Keys to buckets. The secret half is made here, given to the object store and to the caller, once, and
//! kept nowhere else. A key opens all buckets of its tenant: the object store knows users, not buckets.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use store::{all_of, all_of_tenant, forget, strays};
