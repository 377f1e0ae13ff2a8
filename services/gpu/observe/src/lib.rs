//! What is observed of instances: logs, live and kept in an object store; metrics; and whether they are idle.
//!
//! Only the service's top crate depends on this one, as it depends on the client of the object store. Nothing
//! may enter that orders or reconciles need.
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
