//! Access tokens: the current rights of a user, and the token that contains them.

mod http;
mod rights;
mod store;
mod token;

pub use http::routes;
pub use rights::{Holder, NoAccess, membership};
pub use token::{Signer, Subject};
