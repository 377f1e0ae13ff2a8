//! The unit: its pods as values, and the plan of the next step. Pure: no clock, no client.
//!
//! [`plan::plan`] is the entry. The [`planner::Planner`] collects the plan; each of `instance`, `progress`, `runs`,
//! `place`, `guard`, `claims`, `mirrors` and `report` adds one part of it.

pub mod action;
pub mod attempt;
mod claims;
pub mod devices;
mod guard;
mod instance;
pub mod isolation;
pub mod meta;
mod mirrors;
mod place;
pub mod plan;
mod planner;
pub mod pods;
mod progress;
mod report;
pub mod resources;
mod runs;
pub mod snapshot;
pub mod status;
#[cfg(test)]
mod tests;
