//! How instances are reached from outside: the routes that the gateway asks for, one-time tickets, and share links.
//!
//! Nothing may enter that changes an instance. What is behind an address is the instance's own affair: `access` reaches into it.
//!
//! Slices, each of which imports only those before it:
//! - `share`: links for others; `route`: what the gateway asks;
//! - `app`: what the routes need.

mod app;
pub mod route;
pub mod share;

pub use app::{State, routes};
