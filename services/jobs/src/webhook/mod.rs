//! Webhooks: events of jobs as signed requests to endpoints of tenants, in the form of Standard Webhooks.
//!
//! - `fan_out` turns the feed of events into deliveries, in one transaction with its position;
//! - `deliver` sends them from the row queue: at least once, with backoff;
//! - `sender` connects to public addresses only; `signature` signs;
//! - `store` has the SQL of webhooks and their secrets, `deliveries` that of deliveries and of the position.

mod addresses;
mod deliver;
mod deliveries;
mod fan_out;
mod http;
mod model;
mod sender;
mod signature;
mod store;

pub(crate) use deliver::Webhooks;
pub(crate) use deliveries::delete_ended;
pub(crate) use fan_out::tell_progress;
pub(crate) use http::routes;
pub(crate) use model::DeliveryState;
pub(crate) use store::{delete_of_tenant, end, reencrypt};
