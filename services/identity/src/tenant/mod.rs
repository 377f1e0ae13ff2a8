//! Tenants: the owners of instances, storages and usage. What becomes of all that when a tenant ends is carried out by
//! the services that own it ([`reconcile`]).

mod changes;
mod http;
mod model;
mod reconcile;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{TenantRef, TenantState, TenantStep, check_name};
pub(crate) use reconcile::start;
pub(crate) use store::{find, lock, lock_shared};
