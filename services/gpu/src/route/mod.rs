//! How the gateway finds an instance and knows who may open it: addresses by host label, one-time tickets.

mod http;
pub(crate) mod store;

pub(crate) use http::routes;
