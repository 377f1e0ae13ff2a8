//! What other services ask of the stock service: types on the wire, which the service uses itself, and a client.
//!
//! What may not enter: rules, and whatever only the service or only one of its callers needs. A field that is added to an
//! answer has `#[serde(default)]`: replicas of the previous release do not send it.

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
