//! Secrets of instances: environment variables whose values are written once and reach only the container; and the Secrets with
//! which images are pulled.
//!
//! - `model`: what is requested; `detect`: which environment variables belong here.
//! - `store`: the values in Postgres, encrypted with the configured key.
//! - `object`: the Secrets in clusters; `carry_out`: writes and deletes them.

mod carry_out;
mod detect;
mod model;
mod object;
mod renew;
pub(super) mod store;

pub(super) use carry_out::Values;
pub(super) use detect::check_env;
pub use model::SecretRef;
pub(super) use model::{
    Identity, NewSecret, check_change, check_names, check_new, encrypt, list, optional_list,
};
pub use object::{Progress, SecretChange, SecretObject, TrackedSecret};
pub(crate) use renew::reencrypt;
