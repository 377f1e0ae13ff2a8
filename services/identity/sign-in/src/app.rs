//! The wiring: what the routes of this crate need.

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use db::Db;
use encryption::Cipher;
use people::{authority::RecentSignIn, clock::Clock, throttle::Throttle};

use crate::{oidc, passkey, password_sign_in, sign_in_method::SignInMethods, totp};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    pub auth: AuthState,
    pub cipher: Arc<Cipher>,
    pub clock: Clock,
    pub db: Db,
    pub passkey_sign_in: passkey::SignIn,
    pub passkeys: passkey::Passkeys,
    pub password_sign_in: password_sign_in::SignIn,
    pub provider_sign_in: oidc::ProviderSignIn,
    pub recent_sign_in: RecentSignIn,
    pub second_factors: totp::SecondFactors,
    pub sign_in_methods: SignInMethods,
    pub throttle: Throttle,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of signing in, and of the sign-in methods.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .merge(password_sign_in::routes())
        .merge(oidc::routes())
        .merge(passkey::routes())
        .merge(totp::routes())
}
