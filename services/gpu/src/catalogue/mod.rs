//! The catalogue: which services, in which versions, users can pick from.

mod http;
mod model;
pub(crate) mod store;

pub(crate) use http::routes;
pub(crate) use model::check_env;
pub use model::{EnvVar, Template, TemplatePort};
