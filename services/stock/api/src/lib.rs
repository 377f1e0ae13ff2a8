//! The stock service for other services: types on the wire, which the service uses itself, and a client.
//!
//! Nothing may enter that is a rule, or that only the service or only one of its callers needs. A field that
//! is added to a response has `#[serde(default)]`: replicas of the previous release do not send it.

mod claim;
mod client;
mod datacenter;
mod gpu_spec;
mod queue;

pub use claim::{Claim, ClaimPatch, ClaimRecall, ClaimRequest, SpareUnits, Turn, WaitRequest, WantedBack};
pub use client::Client;
pub use datacenter::{Datacenter, DatacenterRef, DatacenterState};
pub use gpu_spec::{Allocation, GpuSpec, GpuSpecRef, GpuSpecState};
pub use queue::{Alternative, Estimate, Grant, QueueEntries, QueueEntry, Quote};
