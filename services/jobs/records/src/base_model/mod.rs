//! Base models: the checkpoints and base models that workers have, as their processes report them. Jobs name them.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub use store::{known, of_pool, report};
