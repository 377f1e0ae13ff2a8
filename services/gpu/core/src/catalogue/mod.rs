//! The services that users choose from: which entries of the catalogue are valid, and how a service is run.

mod model;
mod presentation;
mod reference;
mod template;

pub use model::{NewServiceImage, Reader, ServiceImage, ServiceImageChange};
pub use presentation::Link;
pub(crate) use reference::check_reference;
pub use reference::{parse_registry, registry_of};
pub use template::{Author, EnvVar, Template, TemplatePort, check_env};
pub(crate) use template::{check_title, check_variables};
