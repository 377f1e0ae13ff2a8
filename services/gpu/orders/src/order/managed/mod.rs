//! Instances that another service of the platform orders for a tenant, and manages: workers of the jobs service. They run as
//! those of users do, within the tenant's limits; its users see them, and do not change them.

mod http;
mod model;
mod store;

pub(super) use http::routes;
