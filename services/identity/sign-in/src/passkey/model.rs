//! Passkeys as clients see them.

use api::{Checks, Problem};
use ids::PasskeyId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

/// How long a challenge can be answered.
pub(super) const CHALLENGE_LIFETIME: SignedDuration = SignedDuration::from_secs(300);
/// Maximum number of passkeys of one user.
pub(super) const MAX_PASSKEYS: i64 = 20;

/// The result of `navigator.credentials.get()`, in the format of `PublicKeyCredential.toJSON()`.
pub type Assertion = PublicKeyCredential;

/// A passkey of the caller.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct Passkey {
    /// Id of the passkey.
    pub(super) id: PasskeyId,
    /// Name of the passkey.
    pub(super) name: String,
    #[serde(skip)]
    pub(super) generation: i64,
    /// When the passkey was registered.
    pub(super) created_at: Timestamp,
    /// When the name last changed.
    pub(super) updated_at: Timestamp,
    /// When the user last signed in with the passkey, or null.
    pub(super) last_used_at: Option<Timestamp>,
}

/// A challenge for an authenticator.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PasskeyChallenge {
    /// Options for the browser: parse them with `PublicKeyCredential.parseCreationOptionsFromJSON()` (registration) or
    /// `parseRequestOptionsFromJSON()` (sign-in).
    #[schema(value_type = Object)]
    pub(super) public_key: Value,
    /// When the challenge expires.
    pub(super) expires_at: Timestamp,
}

/// A passkey that an authenticator has made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPasskey {
    /// Name of the passkey: 1 to 100 characters.
    #[serde(deserialize_with = "api::text::nfc")]
    pub(super) name: String,
    /// The result of `navigator.credentials.create()`, in the format of `PublicKeyCredential.toJSON()`.
    #[schema(value_type = Object)]
    pub(super) credential: RegisterPublicKeyCredential,
}

/// A change of a passkey.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PasskeyChange {
    /// The new name: 1 to 100 characters.
    #[serde(deserialize_with = "api::text::nfc")]
    pub(super) name: String,
}

/// # Errors
/// 422 if the text is no name.
pub(super) fn check_name(name: &str) -> Result<(), Problem> {
    let mut checks = Checks::default();
    checks.display_name("/name", name, 100);
    Ok(checks.finish()?)
}
