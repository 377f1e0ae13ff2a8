//! The tokens of a session: opaque refresh tokens, and access tokens.

use api::Problem;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::SessionId;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{Sessions, model::SessionTokens};
use crate::{
    access::{Holder, Subject},
    membership::Membership,
};

/// A refresh token: its session and 256 random bits.
pub(super) struct RefreshToken {
    pub(super) session: SessionId,
    secret: String,
}

impl RefreshToken {
    /// Returns a new token.
    pub(super) fn generate(session: SessionId) -> Result<Self, Problem> {
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).map_err(Problem::internal)?;
        Ok(Self { session, secret: URL_SAFE_NO_PAD.encode(bytes) })
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
    pub(super) fn tokens(self, sessions: &Sessions) -> Result<SessionTokens, Problem> {
        let now = sessions.clock.now();
        let lifetime = sessions.config.access_token_seconds;
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
            Some(_) => Some(subject.sign(&sessions.signer)?),
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
