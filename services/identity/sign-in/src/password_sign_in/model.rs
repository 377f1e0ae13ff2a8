//! The credentials of a sign-in with a password.

use ids::TenantId;
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::passkey::Assertion;

/// E-mail address and password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Credentials {
    /// E-mail address of the user.
    pub(super) email: String,
    /// The user's password.
    #[schema(value_type = String, format = Password)]
    pub(super) password: SecretString,
    /// The tenant to act for (default: the active tenant with the oldest membership, if any).
    #[serde(default)]
    pub(super) tenant_id: Option<TenantId>,
    /// A code of the authenticator app, or a recovery code, if the user has a second factor.
    #[serde(default)]
    pub(super) totp: Option<String>,
    /// Instead of `totp`: the answer of a passkey of the user to a challenge of `create_passkey_challenge`, in the
    /// format of `PublicKeyCredential.toJSON()`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(super) passkey: Option<Assertion>,
    /// For browsers: the response sets a cookie instead of returning tokens. Requests with the cookie that change
    /// something must come from a page of the platform itself.
    #[serde(default)]
    pub(super) cookie: bool,
}
