//! Jobs of tenants.

mod change;
mod cost_range;
mod elsewhere;
mod explanation;
mod gather;
mod http;
mod inputs;
mod list;
mod list_store;
mod model;
mod number;
mod open;
mod quote;
mod store;
mod view;

pub(crate) use change::{Submitted, cancel_open, submit_all};
pub(crate) use gather::Submissions;
pub(crate) use http::routes;
pub(crate) use inputs::confirm as confirm_inputs;
pub(crate) use model::{
    Cost, Fence, Gang, Group, GroupMode, Job, JobProblem, JobState, Kind, Level, QueuedReason, Status,
};
pub(crate) use number::numbered;
pub(crate) use open::OpenJobs;
pub(crate) use store::{
    count_open, delete_ended, find, find_open, lock_for_attempt, record_begin, record_end, sum_costs,
};
pub(crate) use view::{NewJob, Phase, ProgressView};
