//! The platform in one process, for tests of what its services guarantee together: replicas of the real stock, gpu
//! and storage services, the real operator, a development cluster and object store, and Postgres. Every replica can be killed.

#![expect(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot be set up must fail loudly, and runs on the real clock"
)]

mod balancer;
mod diagnosis;
mod evidence;
mod jobs;
mod platform;
mod queue_order;
mod replica;

pub use balancer::Balancer;
pub use evidence::{Evidence, RunEvidence};
pub use jobs::{Jobs, Work, Worker};
pub use platform::{BUCKET, LARGE, NODES, Platform, SMALL, VOLUME};
pub use replica::Replica;
