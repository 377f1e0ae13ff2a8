//! Tenants: the owners of everything users make.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{TenantRef, TenantState, check_name};
pub(crate) use store::{find, lock};
