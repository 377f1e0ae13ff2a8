//! Workers: units that run jobs. Administrators register them, or the platform runs them (`fleet`); their processes
//! poll the listener for workers (`listener`).

mod caller;
mod error;
mod http;
mod model;
pub mod store;
mod token;

pub use caller::WorkerCaller;
pub use error::{Error, NotYours};
pub(crate) use http::routes;
pub use token::{hash, token};
