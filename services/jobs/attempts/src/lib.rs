//! Tries of jobs on workers, and the workers that the platform runs for them.
//!
//! The rules for the end of an attempt are in `core`; this crate applies them. Nothing may enter that serves
//! workers (`listener`) or chooses which job gets one (`dispatch`).
//!
//! Slices, each of which imports only those before it:
//! - [`attempt`]: tries of jobs on workers; [`session`]: the end of a worker's session, with which its attempt ends;
//! - [`fleet`]: workers that the platform runs itself, as instances;
//! - `app`: what the routes need.

mod app;
pub mod attempt;
pub mod fleet;
pub mod session;

pub use app::{State, routes};
