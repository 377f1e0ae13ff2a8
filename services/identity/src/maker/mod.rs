//! Makers: the users and API keys that created credentials, links, keys and webhooks in other services, and whether
//! they still have the right to.

mod http;
mod store;

pub(crate) use http::routes;
