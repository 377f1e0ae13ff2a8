//! What is observed of instances: logs, live and kept in an object store; metrics; and whether they are idle.
//!
//! Only the top of the service stands on this crate, which takes the client of the object store with it. Nothing may enter that
//! orders or reconciles need.
//!
//! Slices, each of which imports only those before it:
//! - `log`: logs, live and kept; `monitoring`: metrics, from Prometheus or from the nodes;
//! - `idle`: stops instances that are idle, where their users have asked for it;
//! - `app`: what the routes need.

mod app;
pub mod idle;
pub mod log;
pub mod monitoring;

pub use app::{State, routes};
