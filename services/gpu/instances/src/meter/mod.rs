//! The rows of the meter: intervals of confirmed running and of holds, and what they cost.

pub mod store;

pub(crate) use store::Billing;
