//! Long-running actions on instances, as their tenant sees them. The records are those of `libs/operations`.

mod http;

pub(crate) use http::routes;
