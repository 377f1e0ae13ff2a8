//! The platform in one process, for tests of what its services guarantee together: replicas of the real stock, gpu
//! and storage services, the real operator, a development cluster and object store, and Postgres. Every replica can be killed.

mod balancer;
mod diagnosis;
mod evidence;
mod jobs;
mod platform;
mod queue_order;
mod replica;

pub(crate) use balancer::Balancer;
pub(crate) use evidence::{Evidence, RunEvidence};
pub(crate) use jobs::Jobs;
pub(crate) use platform::{BUCKET, LARGE, NODES, Platform, SMALL, VOLUME};
pub(crate) use replica::Replica;
