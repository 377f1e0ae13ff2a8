//! The tokens of a session: opaque refresh tokens and signed access tokens.

use auth::{Claims, Scopes};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::{ApiKeyId, SessionId};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{model::SessionTokens, rights::Holder};
use crate::{error::Error, membership::Membership, state::AppState};

/// A refresh token: its session and 256 random bits.
pub(super) struct RefreshToken {
    pub(super) session: SessionId,
    secret: String,
}

impl RefreshToken {
    /// Returns a new token.
    pub(super) fn generate(session: SessionId) -> Result<Self, Error> {
        Ok(Self { session, secret: URL_SAFE_NO_PAD.encode(random::<32>()?) })
    }

    /// Reads a token as [`Self::text`] writes it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (session, secret) = text.split_once('.')?;
        let valid =
            secret.len() == 43 && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        Some(Self { session: session.parse().ok()?, secret: secret.to_owned() }).filter(|_| valid)
    }

    /// Returns the hash, which is stored.
    pub(super) fn hash(&self) -> Vec<u8> {
        Sha256::digest(self.secret.as_bytes()).to_vec()
    }

    /// Returns the token as sent to the client.
    pub(super) fn text(&self) -> String {
        format!("{}.{}", self.session, self.secret)
    }
}

/// A session after a sign-in or refresh.
pub(super) struct Issued {
    pub(super) holder: Holder,
    pub(super) membership: Option<Membership>,
    pub(super) session: SessionId,
    /// None for a session with a cookie.
    pub(super) refresh_token: Option<RefreshToken>,
    pub(super) session_expires_at: Timestamp,
}

impl Issued {
    /// Returns the session's tokens, if it has no cookie.
    ///
    /// # Errors
    /// If no signing key is active.
    pub(super) fn tokens(self, state: &AppState) -> Result<SessionTokens, Error> {
        let now = state.now();
        let lifetime = state.config.sessions.access_token_seconds;
        let subject = Subject {
            holder: &self.holder,
            membership: self.membership.as_ref(),
            admin: self.holder.user.admin,
            session: self.session,
            scopes: None,
            api_key: None,
            limited: false,
            expires_at: now.as_second() + i64::from(lifetime),
        };
        let access_token = match self.refresh_token {
            Some(_) => Some(subject.sign(state)?),
            None => None,
        };
        let (tenant, role) = self.membership.map(|m| (m.tenant, m.role)).unzip();
        Ok(SessionTokens {
            access_token,
            token_type: "Bearer",
            expires_in: lifetime,
            refresh_token: self.refresh_token.as_ref().map(RefreshToken::text),
            session_expires_at: self.session_expires_at,
            user: self.holder.user,
            tenant,
            role,
        })
    }
}

/// For whom an access token is issued, and what it grants.
pub(crate) struct Subject<'a> {
    pub(crate) holder: &'a Holder,
    pub(crate) membership: Option<&'a Membership>,
    /// Whether the token is that of a platform administrator.
    pub(crate) admin: bool,
    pub(crate) session: SessionId,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) api_key: Option<ApiKeyId>,
    /// Whether the requests of the API key are limited.
    pub(crate) limited: bool,
    /// Unix time in seconds.
    pub(crate) expires_at: i64,
}

impl Subject<'_> {
    /// Returns the signed token.
    ///
    /// # Errors
    /// If no signing key is active.
    pub(crate) fn sign(&self, state: &AppState) -> Result<String, Error> {
        let claims = Claims {
            iss: state.config.auth.issuer.clone(),
            aud: state.config.auth.audience.clone(),
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
            jti: URL_SAFE_NO_PAD.encode(random::<16>()?),
        };
        state.keyring.sign(&claims, state.now())
    }
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(anyhow::Error::from)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_is_read_back() {
        let token = RefreshToken::generate(SessionId::new()).unwrap();
        let parsed = RefreshToken::parse(&token.text()).unwrap();
        assert_eq!((parsed.session, parsed.hash()), (token.session, token.hash()));
        let other = RefreshToken::generate(token.session).unwrap();
        assert_ne!(other.hash(), token.hash());
    }

    #[test]
    fn other_text_is_no_refresh_token() {
        let text = RefreshToken::generate(SessionId::new()).unwrap().text();
        let one_less = &text[..text.len() - 1];
        for bad in [
            "",
            ".",
            &text[1..],
            one_less,
            &format!("{text}="),
            &format!("{one_less}="),
            &text.replace('.', "/"),
        ] {
            assert!(RefreshToken::parse(bad).is_none(), "{bad}");
        }
    }
}
