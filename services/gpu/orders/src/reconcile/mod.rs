//! Carries out the desired state of instances: a claim of the stock service, attachments of the storage
//! service, and the `spec.instance` of a `GpuUnit`.

mod actions;
pub mod fault;
mod manifest;
mod reconciler;
mod secrets;
pub mod starts;
mod unit;
mod values;
mod workers;

pub use reconciler::Reconciler;
