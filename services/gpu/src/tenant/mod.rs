//! Tenants that are suspended or deleted: what that means for their instances. The identity service decides it.

mod erase;
mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::TenantFate;
pub(crate) use store::check_active;
