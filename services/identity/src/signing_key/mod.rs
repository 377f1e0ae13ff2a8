//! The keys that sign access tokens: created, published before use, used in turn, deleted when their last token has
//! expired.

mod generate;
mod http;
mod model;
mod operators;
mod reconcile;
mod renew;
mod store;

pub(crate) use http::routes;
pub use operators::{SigningKeyStart, request_signing_key, signing_keys};
pub(crate) use reconcile::run;
pub(crate) use renew::reencrypt;
