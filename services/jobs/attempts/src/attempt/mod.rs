//! Attempts: tries of jobs on workers. Only the latest one of a job counts, and only if its worker's session is the latest.

mod end;
pub mod log_store;
pub mod member;
pub mod store;
mod tenant_http;
mod tenant_log;

pub use end::{Results, complete, end};
pub use store::{Opened, note_lost_node, open};
pub(crate) use tenant_http::routes as tenant_routes;
pub(crate) use tenant_log::routes as log_routes;
