//! Pools: workers of one kind with one scheduler. Administrators create them.

mod capacity;
mod changes;
mod http;
mod model;
mod store;
mod tenant_http;

pub(crate) use changes::{Changed, PoolChange, publish, publish_to_all};
pub(crate) use http::routes;
pub(crate) use store::{ForJobs, find, find_for_jobs, find_for_update, find_others, is_usable};
