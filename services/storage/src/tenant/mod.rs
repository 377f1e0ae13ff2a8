//! The effects of a tenant's suspension or deletion on its storages. The identity service decides about the state.

mod access;
mod erase;
mod http;

pub(crate) use access::apply as apply_access;
pub(crate) use http::routes;
