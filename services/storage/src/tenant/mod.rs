//! Tenants that are suspended or deleted: what that means for their storages. The identity service decides it.

mod access;
mod erase;
mod http;
mod model;
mod store;

pub(crate) use access::apply as apply_access;
pub(crate) use http::routes;
pub(crate) use model::TenantFate;
pub(crate) use store::check_active;
