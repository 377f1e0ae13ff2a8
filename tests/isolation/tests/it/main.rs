//! What separates tenants, over all operations of the API.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod audit;
mod drain;
mod fuzz;
mod health;
mod lost_connections;
mod matrix;
mod policies;
mod queries;
mod services;
mod tokens;
mod traces;
