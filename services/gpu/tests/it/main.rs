//! The gpu service through its HTTP API, on a real database and the development cluster; and the pure state
//! machine in a small world of its own.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod bounds;
mod catalogue;
mod clusters;
mod crash;
mod harness;
mod lifecycle;
mod model;
mod model_events;
mod neighbours;
mod operator;
mod queue;
mod streams;
mod tenants;
mod workers;
