//! The stock service through its HTTP API, on a real Postgres and a development cluster.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod capacity;
mod catalogue;
mod claims;
mod cluster;
mod events;
mod fixture;
mod health;
mod interruptible;
mod operator;
mod queue;
mod remembered;
mod repair;
mod silence;
mod stock;
mod subjects;
mod supervision;
mod units;
