//! Storages: the plan of the next step for one, as values. Nothing here reads or writes the cluster.

mod action;
mod download;
mod planner;

pub use action::Action;
pub use download::Downloads;
pub use planner::{Plan, plan};
