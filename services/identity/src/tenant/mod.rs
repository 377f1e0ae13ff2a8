//! Tenants: the owners of instances, storages and usage.

mod changes;
mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{TenantRef, TenantState, check_name};
pub(crate) use store::{find, lock, lock_shared};
