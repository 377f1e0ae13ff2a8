//! Makers: who has made what opens something in the other services, and whether they still may.

mod http;
mod store;

pub(crate) use http::routes;
