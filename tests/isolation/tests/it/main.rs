//! What separates tenants, over all operations of the API.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed assertion is the point of a test, which runs on the real clock"
)]

mod audit;
mod drain;
mod fuzz;
mod health;
mod lost_connections;
mod makers;
mod matrix;
mod policies;
mod queries;
mod services;
mod support;
mod tenant_end;
mod tokens;
mod traces;
