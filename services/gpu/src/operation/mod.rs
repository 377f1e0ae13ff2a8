//! Long-running actions on instances, as their tenant sees them. The records are those of `libs/operations`.

mod http;
mod model;

pub(crate) use http::routes;
pub use model::OperationKind;
