//! Base models: the checkpoints and base models that workers have, as their processes report them. Jobs name them.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{BaseModelKind, Models, Needs, check_name};
pub(crate) use store::{known, of_pool, report};
