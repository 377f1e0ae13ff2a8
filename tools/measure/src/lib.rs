//! Measurements: benchmarks, a soak, a platform at rest, and all of them in their smallest size.
//!
//! How a platform is started may not enter: a measurement that needs one of its own hands over a task (`machine::own`).
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

pub mod bench;
mod benchmark;
pub mod rest;
pub mod smoke;
pub mod soak;
