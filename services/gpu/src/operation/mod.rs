//! The records of long actions on instances.

mod http;
mod model;
pub(crate) mod store;

pub(crate) use http::routes;
pub use model::{Kind, Outcome, problem_of};
