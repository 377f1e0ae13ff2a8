//! Secrets of instances: environment variables with values that are written once and reach only the container; and the Secrets with
//! which images are pulled.
//!
//! - `model`: what is requested; `detect`: which environment variables belong here; `object`: the Secrets in clusters.

mod detect;
mod model;
mod object;

pub use detect::check_env;
pub use model::{NewSecret, SecretRef, check_change, check_names, check_new, list, optional_list};
pub use object::{Progress, SecretChange, SecretObject, TrackedSecret};
