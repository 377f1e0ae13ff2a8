//! Sign-in with an account of an OpenID provider (`crate::provider`), and the accounts with which users sign in.
//!
//! A person is identified by issuer and subject, never by an e-mail address alone. The session is that of a
//! browser (`people::session`), with a cookie. A user who is signed in links further accounts in the same way.

mod accounts;
mod error;
mod http;
mod link;
mod model;
mod sign_in;
mod store;

use std::sync::Arc;

use people::{session::Sessions, throttle::Throttle};

use crate::{password::Hasher, provider::Providers};
use error::Error;

pub use http::routes;

/// The parts that sign-in with a provider needs.
#[derive(Clone)]
pub struct ProviderSignIn {
    pub providers: Arc<Providers>,
    pub hasher: Hasher,
    pub sessions: Sessions,
    pub throttle: Throttle,
}
