//! Tenants: the owners of instances, storages and usage. When a tenant is deleted, the services that own
//! these carry out the deletion ([`reconcile`]).

mod changes;
mod error;
mod http;
mod model;
mod reconcile;
mod store;

pub use error::Error;
pub use http::routes;
pub use model::{TenantRef, TenantState, TenantStep, check_name, may_read};
pub use reconcile::{Parts, tasks};
pub use store::{find, lock, lock_shared};
