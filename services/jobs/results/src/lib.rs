//! Files of jobs: what jobs make, what users bring for them, the models that trainings make, and those on volumes.
//!
//! The only crate that calls the storage service. Nothing may enter that knows how an attempt runs or ends: `attempts` and `listener`
//! stand on this one.
//!
//! Slices, each of which imports only those before it:
//! - [`artifact`]: what jobs make; [`upload`]: what users bring; [`model`]: results of trainings; [`deployment`]: those on volumes;
//! - `missing`: inputs of jobs that are not there; `app`: what the routes need.

mod app;
pub mod artifact;
pub mod deployment;
mod missing;
pub mod model;
pub mod upload;

pub use app::{State, routes, worker_routes};
pub use missing::InputMissing;
