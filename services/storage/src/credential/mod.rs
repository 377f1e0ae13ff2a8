//! Credentials: access keys of buckets. The secret key is generated here, sent once to the object store and
//! to the caller, and not stored. A key opens all buckets of its tenant: keys in the object store belong to
//! users, not to buckets.

mod http;
mod issue;
mod makers;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use makers::Makers;
pub(crate) use model::CredentialState;
pub(crate) use store::{delete, of_storage, of_tenant, removable};
