//! Events of the stock. Triggers write them (`migrations/stock/0007_events.sql`); `libs/events` streams them.

pub(crate) mod http;
mod model;

use std::time::Duration;

use feed::Outbox;

pub use model::{StockChanged, StockEvent, UnitChanged, UnitRemoved};

/// The events. Without notifications, which would make claims wait for each other.
pub(crate) const EVENTS: Outbox = Outbox { table: "stock_events", channel: "stock_events" };
/// How long they are kept: as long as grants.
pub(crate) const KEPT: Duration = Duration::from_hours(24);
