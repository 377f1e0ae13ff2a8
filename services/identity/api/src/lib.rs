//! What other services ask of the identity service: types on the wire, which the service uses itself, and a client.
//!
//! What may not enter: rules, and whatever only the service or only one of its callers needs. A field that is added to an
//! answer has `#[serde(default)]`: replicas of the previous release do not send it.

mod access;
mod account;
mod client;

pub use access::{KeyLimit, Rights, TokenExchange, TokenGrant};
pub use account::{Account, AccountUser};
pub use client::Client;
