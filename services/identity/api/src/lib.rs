//! The identity service for other services: types on the wire, which the service uses itself, and a client.
//!
//! Nothing may enter that is a rule, or that only the service or only one of its callers needs. A field that
//! is added to a response has `#[serde(default)]`: replicas of the previous release do not send it.

mod access;
mod account;
mod client;

pub use access::{KeyLimit, Rights, TokenExchange, TokenGrant};
pub use account::{Account, AccountUser};
pub use client::Client;
