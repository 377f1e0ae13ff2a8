//! The unit: what its pods are, what to do next, and how it is told.

pub mod action;
mod claims;
pub mod devices;
mod judge;
mod place;
pub mod plan;
pub mod pods;
pub mod status;
