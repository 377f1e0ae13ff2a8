//! Jobs of tenants.

mod change;
mod explanation;
mod http;
mod model;
mod store;
mod view;

pub(crate) use change::cancel_open;
pub(crate) use http::routes;
pub(crate) use model::{Fence, GroupMode, Job, JobProblem, JobState, Kind, Level, QueuedReason, Status};
pub(crate) use store::{
    count_open, delete_ended, find, find_open, lock_for_attempt, record_begin, record_end,
};
pub(crate) use view::{Phase, ProgressView};
