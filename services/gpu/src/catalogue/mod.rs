//! The catalogue: the services, and their versions, that users choose from.

mod http;
mod model;
mod presentation;
mod reference;
pub(crate) mod store;
mod template;

pub(crate) use http::routes;
pub(crate) use model::ServiceImage;
pub(crate) use presentation::Link;
pub(crate) use reference::{check_reference, parse_registry, registry_of};
pub(crate) use template::{Author, check_env, check_title, check_variables};
pub use template::{EnvVar, Template, TemplatePort};
