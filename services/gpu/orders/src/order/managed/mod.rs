//! Instances that another service of the platform orders for a tenant, and manages: workers of the jobs
//! service. They run like those of users, within the tenant's limits; its users can see them, but not change
//! them.

mod http;
mod model;
mod store;

pub(super) use http::routes;
