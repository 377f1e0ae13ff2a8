//! Events of storages, and of the operations on them. Triggers write them (`migrations/storage/0004_events.sql`);
//! `libs/events` streams them.

mod http;
mod model;

use std::time::Duration;

use feed::Outbox;

pub(crate) use http::routes;

/// The events of all tenants, without notifications.
pub(crate) const EVENTS: Outbox = Outbox { table: "storage_events", channel: "storage_events" };
/// How long they are kept.
pub(crate) const KEPT: Duration = Duration::from_hours(7 * 24);
