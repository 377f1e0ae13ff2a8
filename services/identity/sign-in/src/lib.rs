//! Authentication of people: passwords, codes of an app, passkeys, accounts of OpenID providers.
//!
//! A slice imports only those above it in this list:
//!
//! - [`password`]: which passwords are accepted, and their hashes;
//! - [`provider`]: OpenID providers, and their claims about people;
//! - [`sign_in_method`]: the sign-in methods of a user, of which one must remain;
//! - [`totp`]: codes of an authenticator app as a second factor;
//! - [`passkey`]: passkeys, and signing in with one;
//! - [`oidc`]: signing in with an account of a provider, and linked accounts;
//! - [`password_sign_in`]: signing in with a password and a second factor;
//! - `app`: the wiring.
//!
//! Rules of sessions may not enter: those are in `people`. Nor may API keys, which are not for sign-in.

mod app;
pub mod oidc;
pub mod passkey;
pub mod password;
pub mod password_sign_in;
pub mod provider;
pub mod sign_in_method;
pub mod totp;

pub use app::{State, routes};
