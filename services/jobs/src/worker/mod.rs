//! Workers: units that run jobs. Administrators register them, or the platform runs them ([`crate::fleet`]); their processes
//! poll the listener for workers.

mod caller;
mod http;
mod model;
mod register;
mod session;
pub(crate) mod store;

pub(crate) use caller::WorkerCaller;
pub(crate) use http::routes;
pub(crate) use model::{Tenure, WorkerState, hash, token};
pub(crate) use register::routes as door_routes;
pub(crate) use session::{EndCause, end_session};
