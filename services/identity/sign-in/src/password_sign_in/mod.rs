//! Sign-in with a password, and with a second factor if the user has one.

mod error;
mod http;
mod model;
mod sign_in;

use error::Error;

pub use http::routes;
pub use sign_in::SignIn;
