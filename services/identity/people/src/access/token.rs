//! Access tokens: their claims and their signature.

use api::Problem;
use auth::{Claims, Scopes};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::{ApiKeyId, SessionId};

use super::Holder;
use crate::{clock::Clock, keyring::Keyring, membership::Membership};

/// The signer of access tokens.
#[derive(Clone)]
pub struct Signer {
    pub issuer: String,
    pub audience: String,
    pub keyring: Keyring,
    pub clock: Clock,
}

/// The user of an access token, and its rights.
pub struct Subject<'a> {
    pub holder: &'a Holder,
    pub membership: Option<&'a Membership>,
    /// Whether the token is that of a platform administrator.
    pub admin: bool,
    pub session: SessionId,
    pub scopes: Option<Scopes>,
    pub api_key: Option<ApiKeyId>,
    /// Whether the requests of the API key are limited.
    pub limited: bool,
    /// Unix time in seconds.
    pub expires_at: i64,
}

impl Subject<'_> {
    /// Returns the signed token.
    ///
    /// # Errors
    /// If no signing key is active.
    pub fn sign(&self, signer: &Signer) -> Result<String, Problem> {
        let mut id = [0; 16];
        aws_lc_rs::rand::fill(&mut id).map_err(Problem::internal)?;
        let claims = Claims {
            iss: signer.issuer.clone(),
            aud: signer.audience.clone(),
            sub: self.holder.user.id,
            tid: self.membership.map(|membership| membership.tenant.id),
            role: self.membership.map(|membership| membership.role),
            adm: self.admin,
            sid: Some(self.session),
            scope: self.scopes.map(|scopes| scopes.to_string()),
            key: self.api_key,
            limited: self.limited,
            iat: self.holder.issued_at.as_duration().as_secs_f64(),
            exp: self.expires_at,
            jti: URL_SAFE_NO_PAD.encode(id),
        };
        signer.keyring.sign(&claims, signer.clock.now())
    }
}
