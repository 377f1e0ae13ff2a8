//! Tenants' instances: what users ask for, what is so, and the reconcilers that make it so.

mod create;
mod decide;
mod http;
mod manifest;
mod model;
mod parts;
mod reconcile;
pub(crate) mod store;
mod view;
mod worker;

pub use decide::{Step, decide};
pub(crate) use http::routes;
pub use model::{Commanded, Effects, Holds, Illegal, Instance, State};
pub use parts::{Attached, Claim, EndedRun, Failure, Meter, Metering, Order, Place, Pod, RunKey, Why};
pub use reconcile::{Looked, Reconciler};
pub use worker::{Wakes, Worker};
