//! Passkeys (WebAuthn): keys of a device or a password manager with which users sign in without a password, or that take the
//! place of a code after it.
//!
//! A ceremony has two requests. The first stores a challenge, the second the browser's answer to it uses the challenge up:
//! each counts once, for five minutes, and for a registration only in the session that began it. Passkeys are discoverable
//! and verify their user (a PIN, a finger), so a sign-in needs neither an e-mail address nor a second factor.

mod changes;
mod clean_up;
mod http;
mod model;
mod registration;
mod relying_party;
mod sign_in;
mod store;
mod verify;

pub(crate) use clean_up::delete_expired;
pub(crate) use model::Assertion;
pub(crate) use relying_party::RelyingParty;
pub(crate) use verify::check_second_factor;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(registration::routes()).merge(sign_in::routes())
}
