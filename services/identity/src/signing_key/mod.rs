//! The keys that sign access tokens: created, published before use, used in turn, deleted when their last token has
//! expired.

mod generate;
mod http;
mod model;
mod reconcile;
mod renew;
mod store;

pub(crate) use http::routes;
pub(crate) use reconcile::run;
pub(crate) use renew::reencrypt;
