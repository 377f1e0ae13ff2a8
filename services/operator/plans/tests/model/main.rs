//! The plan of a unit against a small model of a cluster: random commands, failures, competing pods, lost nodes, and
//! operators that are killed between any two writes. No place is used twice and no unit is lost. Once the disturbance is
//! over, every unit reaches the state that its spec asks for. Everything also holds for units with claimed devices: no
//! device is used twice, and no claim is left behind.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod api;
mod cases;
mod checks;
mod claims;
mod cluster;
mod events;
mod state;

/// Number of units.
pub(crate) const UNITS: usize = 3;
/// Number of nodes.
pub(crate) const NODES: usize = 2;
/// Places and devices on each node: one more than units in the whole cluster.
pub(crate) const PLACES: usize = 2;
/// The tenant of all instances.
pub(crate) const TENANT: &str = "ten-00000000000000000000000000000001";
