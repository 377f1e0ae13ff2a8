//! The keys that sign access tokens: made, published before use, used in turn, withdrawn.

mod http;
mod keep;
mod model;
mod ring;
mod store;

pub(crate) use http::routes;
pub(crate) use keep::keep;
pub(crate) use ring::Ring;
