//! Passkeys (WebAuthn): keys of a device or a password manager with which users sign in without a password,
//! or after it instead of a code.
//!
//! A ceremony has two requests. The first stores a challenge, the second sends the browser's answer to it and
//! invalidates the challenge: each challenge is valid once, for five minutes, and for a registration only in
//! the session that began it. Passkeys are discoverable and verify their user (a PIN, a finger), so a sign-in
//! needs neither an e-mail address nor a second factor.

mod changes;
mod config;
mod error;
mod http;
mod model;
mod registration;
mod relying_party;
mod sign_in;
mod store;
mod verify;

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;
use encryption::Cipher;
use people::{authority::RecentSignIn, clock::Clock};

use crate::sign_in_method::SignInMethods;
use error::Error;

pub use config::PasskeyConfig;
pub use model::Assertion;
pub use relying_party::RelyingParty;
pub use sign_in::SignIn;
pub use store::delete_expired;
pub use verify::check_second_factor;

/// The parts that registering and checking passkeys needs.
#[derive(Clone)]
pub struct Passkeys {
    pub db: Db,
    pub clock: Clock,
    /// None: passkeys are not configured.
    pub relying_party: Option<Arc<RelyingParty>>,
}

impl Passkeys {
    /// Returns the platform as authenticators know it.
    ///
    /// # Errors
    /// If passkeys are not configured.
    fn relying_party(&self) -> Result<&RelyingParty, Error> {
        self.relying_party.as_deref().ok_or(Error::Disabled)
    }
}

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Arc<Cipher>: FromRef<S>,
    Clock: FromRef<S>,
    Db: FromRef<S>,
    Passkeys: FromRef<S>,
    RecentSignIn: FromRef<S>,
    SignIn: FromRef<S>,
    SignInMethods: FromRef<S>,
{
    http::routes().merge(registration::routes()).merge(sign_in::routes())
}
