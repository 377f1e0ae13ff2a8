//! Webhooks: events of jobs as signed requests to endpoints of tenants, in the form of Standard Webhooks.
//!
//! Slices, each of which imports only those before it:
//! - `config`, `metrics`; `model`: webhooks and deliveries as JSON, and when an attempt is repeated;
//! - `addresses`: those that webhooks may be sent to; `sender`: connects to them only; `signature`: signs;
//! - `deliveries`: SQL of deliveries and of the position in the feed; `store`: that of webhooks and their secrets;
//! - `fan_out`: turns the feed of events into deliveries, in one transaction with its position;
//! - `deliver`: sends them from the row queue: at least once, with backoff;
//! - `http`: webhooks over HTTP; `app`: what the routes need.
//!
//! The only crate that connects to addresses of tenants. Nothing may enter that changes a job or uses the
//! broker: `mq` sends the same events independently.

mod addresses;
mod app;
mod config;
mod deliver;
mod deliveries;
mod fan_out;
mod http;
mod metrics;
mod model;
mod sender;
mod signature;
mod store;

use db::Db;
use jiff::Timestamp;

pub use app::{State, routes};
pub use config::WebhooksConfig;
pub use deliver::Webhooks;
pub use deliveries::delete_ended;
pub use fan_out::tell_progress;
pub use metrics::WebhookMetrics;
pub use model::DeliveryState;
pub use store::{delete_of_tenant, end, reencrypt};

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub webhooks: Webhooks,
    pub clock: fn() -> Timestamp,
}
