//! Reports of the cluster's components about objects: conditions, pod status and events.

mod events;
mod status;

pub(crate) use events::{expire, record};
pub(crate) use status::{set_condition, set_ready, update_pod};
