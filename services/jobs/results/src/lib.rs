//! Files of jobs: results, uploads of users, models that trainings make, and models on volumes.
//!
//! The only crate that calls the storage service. Nothing may enter that knows how an attempt runs or ends:
//! `attempts` and `listener` depend on this crate.
//!
//! Slices, each of which imports only those before it:
//! - [`artifact`]: results of jobs; [`upload`]: uploads of users; [`model`]: results of trainings;
//!   [`deployment`]: models on volumes;
//! - `missing`: missing inputs of jobs; `app`: what the routes need.

mod app;
pub mod artifact;
pub mod deployment;
mod missing;
pub mod model;
pub mod upload;

pub use app::{State, routes, worker_routes};
pub use missing::InputMissing;
