//! The rows of instances: with their orders and secrets, what happened to them and what they cost, and how
//! their tenants see them. The rules of instances are in `core`.
//!
//! Nothing may enter that reaches into a running instance (`access`), observes it (`observe`) or decides over
//! several of them (`usage`, `orders`): all of those depend on this crate, and are rebuilt with it. It calls
//! no other service either.
//!
//! Slices, each of which imports only those before it:
//! - `catalogue`: the services that users choose from; `operation`: long-running actions; `ticket`: secrets of addresses;
//!   `streams`: how many streams a tenant has open, and when they end;
//! - `meter`: the rows of runs and holds; `event`: what happened to instances: an ordered log per tenant, followed as server-sent events or as a feed;
//! - `instance`: its rows, and its JSON; `app`: what the routes need.

mod app;
pub mod catalogue;
pub mod event;
pub mod instance;
pub mod meter;
pub mod operation;
pub mod streams;
pub mod ticket;

use sqlx::migrate::Migrator;

pub use app::{State, routes};

/// The service's name: of its schema, its roles and its workers.
pub const NAME: &str = "gpu";

/// The schema's migrations.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../../migrations/gpu");
