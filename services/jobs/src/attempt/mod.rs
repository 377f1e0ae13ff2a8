//! Attempts: tries of jobs on workers. Only the latest one of a job counts, and only if its worker's session is the latest.

mod delivering;
mod end;
mod http;
mod inputs;
mod join;
mod log;
mod log_store;
mod member;
mod model;
mod poll;
mod progress;
mod report_store;
mod reports;
mod store;
mod tenant_http;
mod tenant_log;

pub(crate) use delivering::{delivers, sweep};
pub(crate) use end::end;
pub(crate) use http::routes;
pub(crate) use model::{AttemptState, Counts, End, Policy};
pub(crate) use progress::Progress;
pub(crate) use reports::{Question, Report, Reports};
pub(crate) use store::{Opened, note_lost_node, open};
pub(crate) use tenant_http::routes as tenant_routes;
pub(crate) use tenant_log::routes as log_routes;
