//! Orders of instances, and their execution: orders record the desired state, and reconciles carry it out
//! with the stock service, the storage service and the clusters.
//!
//! The only crate that calls the stock and storage services. Nothing may enter that reaches into a running
//! instance (`access`) or observes it (`observe`).
//!
//! Slices, each of which imports only those before it:
//! - `isolation`: in which datacenters code of tenants runs, as their operators report it; `registry_credential`: with which
//!   tenants pull images from private registries;
//! - `order`: what users, administrators and services ask of instances, which records the desired state;
//! - `reconcile`: carries it out, with a claim of the stock service, an attachment of the storage service and the `spec.instance`
//!   of a `GpuUnit`;
//! - `app`: what the routes need.

mod app;
pub mod isolation;
pub mod order;
pub mod reconcile;
pub mod registry_credential;

pub use app::{State, routes};
