//! Access to running instances: terminals over WebSockets, and SSH with SFTP and forwarded ports.
//!
//! Only the service's top crate depends on this one, so that a change here builds in seconds: what others
//! need of keys is in `keys`, of instances in `instances`. Nothing may enter that changes the desired state
//! of an instance.
//!
//! - `terminal`: a command with a terminal in the instance's container; `ssh`: the SSH endpoint of all instances;
//! - `app`: what the routes need.

mod app;
pub mod ssh;
pub mod terminal;

pub use app::{State, routes};
