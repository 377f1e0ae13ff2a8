//! The scheduling core from outside: snapshots and events in, decisions out.

#![expect(clippy::unwrap_used, reason = "a failure is the point of a test")]

mod builders;
mod courses;
mod forecasts;
mod invariants;
mod properties;
mod rules;
mod takeovers;
mod units;
