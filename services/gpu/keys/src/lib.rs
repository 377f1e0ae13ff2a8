//! Public keys that open instances: those of users, and those of one instance.
//!
//! Access checks and the SSH server are in `access`: nothing about connections may enter, so that orders can
//! depend on this crate without it.
//!
//! Slices, each of which imports only those before it:
//! - `key`: a public key in OpenSSH format; `store`: their SQL;
//! - `user_keys`: those of a user; `instance_keys`: those of one instance;
//! - `app`: what the routes need.

mod app;
mod instance_keys;
mod key;
mod store;
mod user_keys;

pub use app::{State, routes};
pub use instance_keys::{check_new_keys, insert_new_keys};
pub use key::fingerprint;
pub use store::{CHANNEL, notify};
