//! How instances are reached from outside: the routes that the gateway asks for, one-time tickets, and share links.
//!
//! Nothing may enter that changes an instance. Access inside an instance is in `access`.
//!
//! Slices, each of which imports only those before it:
//! - `share`: links for others; `route`: calls of the gateway;
//! - `app`: what the routes need.

mod app;
pub mod route;
pub mod share;

pub use app::{State, routes};
