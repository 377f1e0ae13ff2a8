//! People, the tenants that they belong to, and their sessions: who may do what, now.
//!
//! A slice imports only those above it in this list:
//!
//! - [`clock`]: the time;
//! - [`scope`]: the users, sessions and keys whose rows a transaction sees;
//! - [`field`]: errors of fields in requests;
//! - [`client_address`]: the address of a request's client;
//! - [`cookie`]: the console's cookies;
//! - [`keyring`]: the signing keys in use;
//! - [`user`]: who can sign in, and the table of them;
//! - [`authority`]: the current rights of a caller, from the tables;
//! - [`revocation`]: the feed of tokens that are no longer valid;
//! - [`tenant`]: tenants, their suspension and deletion;
//! - [`membership`]: users in tenants, with their roles;
//! - [`throttle`]: delays after failed sign-ins;
//! - [`access`]: the current rights of a user, and access tokens;
//! - [`session`]: sessions: opened, refreshed, exchanged, ended;
//! - `app`: the wiring.
//!
//! No sign-in method or credential may enter: they open sessions, and depend on this crate.

pub mod access;
mod app;
pub mod authority;
pub mod client_address;
pub mod clock;
pub mod cookie;
pub mod field;
pub mod keyring;
pub mod membership;
pub mod revocation;
pub mod scope;
pub mod session;
pub mod tenant;
pub mod throttle;
pub mod user;

pub use app::{State, routes};

/// Name of the service, its schema, its roles and its workers.
pub const NAME: &str = "identity";
