//! The rows of instances, and how their tenants see them. Its states and rules are in `gpu_core::instance`.
//!
//! - `store`, `list_store`, `idle_watch`, `end`: SQL, and ends that other slices cause; `secret_values`:
//!   encrypted values.
//! - `view`: the instance as JSON; `progress`: its operation; `error`: why a request about it is refused.
//! - `container`: where a running instance is; `config`: host names.

mod config;
mod container;
pub mod end;
mod error;
pub mod idle_watch;
pub mod list;
pub mod list_store;
mod progress;
pub mod secret_values;
pub mod store;
mod view;

pub use config::Apps;
pub use container::{Container, container_of};
pub use error::Error;
pub use secret_values::reencrypt;
pub use store::QUEUE;
pub use view::{GpuSpecRef, InstanceView};
