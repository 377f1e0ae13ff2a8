//! Attachments: the use of storages by instances. The gpu service writes them.

mod http;
mod store;

pub(crate) use http::routes;
