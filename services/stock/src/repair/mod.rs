//! The record of repaired drift: what a watch, a comparison or a count found and repaired.

pub(crate) mod http;
mod model;
pub(crate) mod store;

pub(crate) use model::Finding;
pub use model::{Repair, RepairKind};
