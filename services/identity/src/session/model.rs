//! Sessions and their tokens.

use api::{Problem, ProblemType};
use auth::{Claims, Role};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::{SessionId, TenantId};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    app::App,
    membership::Membership,
    tenant::{TenantRef, TenantState},
    user::User,
};

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum EndReason {
    /// The user asked.
    SignedOut,
    /// A refresh token came again after its time.
    TokenReused,
    /// The password changed.
    PasswordChanged,
    /// The user was disabled.
    UserDisabled,
    /// The user is no longer a member of the session's tenant.
    MembershipEnded,
}

/// Signing in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    /// The user's address.
    pub(super) email: String,
    /// The user's password.
    #[schema(value_type = String, format = Password)]
    pub(super) password: SecretString,
    /// The tenant to act for (default: the one the user has belonged to longest, if any).
    #[serde(default)]
    pub(super) tenant_id: Option<TenantId>,
}

/// Staying signed in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refresh {
    /// The newest refresh token of the session.
    #[schema(value_type = String, format = Password)]
    pub(super) refresh_token: SecretString,
    /// From now on act for this tenant (default: the same as before).
    #[serde(default)]
    pub(super) tenant_id: Option<TenantId>,
}

/// A session's tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionTokens {
    /// Send it as `Authorization: Bearer …`.
    pub(super) access_token: String,
    /// Always `Bearer`.
    pub(super) token_type: &'static str,
    /// Seconds for which the access token is valid.
    pub(super) expires_in: u32,
    /// Exchange it for new tokens at `/v1/sessions/refresh`, once.
    pub(super) refresh_token: String,
    /// When the session ends for good.
    pub(super) session_expires_at: Timestamp,
    /// Who signed in.
    pub(super) user: User,
    /// The tenant that the tokens are for.
    pub(super) tenant: Option<TenantRef>,
    /// The user's role there.
    pub(super) role: Option<Role>,
}

/// A refresh token: the session it belongs to, and 256 random bits.
pub(super) struct RefreshToken {
    pub(super) session: SessionId,
    secret: String,
}

impl RefreshToken {
    /// A new one.
    ///
    /// # Errors
    /// 500 when the system gives no randomness.
    pub(super) fn generate(session: SessionId) -> Result<Self, Problem> {
        Ok(Self { session, secret: URL_SAFE_NO_PAD.encode(random::<32>()?) })
    }

    /// The one that stands in `text`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (session, secret) = text.split_once('.')?;
        let plausible =
            secret.len() == 43 && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        Some(Self { session: session.parse().ok()?, secret: secret.to_owned() }).filter(|_| plausible)
    }

    /// What is stored of it.
    pub(super) fn hash(&self) -> Vec<u8> {
        Sha256::digest(self.secret.as_bytes()).to_vec()
    }

    /// As the client holds it.
    pub(super) fn text(&self) -> String {
        format!("{}.{}", self.session, self.secret)
    }
}

/// Random bytes of the system.
///
/// # Errors
/// 500 when it gives none.
fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(Problem::internal)?;
    Ok(bytes)
}

/// The `jti` of an access token names its session, so that the token can sign out.
pub(super) fn new_jti(session: SessionId) -> Result<String, Problem> {
    Ok(format!("{session}.{}", URL_SAFE_NO_PAD.encode(random::<12>()?)))
}

/// The session that a `jti` names.
pub(super) fn session_of_jti(jti: &str) -> Option<SessionId> {
    jti.split_once('.')?.0.parse().ok()
}

/// The answer to a sign-in or refresh.
///
/// # Errors
/// 503 when there is no key to sign with.
pub(super) fn tokens(
    app: &App,
    user: User,
    membership: Option<Membership>,
    refresh: &RefreshToken,
    session_expires_at: Timestamp,
) -> Result<SessionTokens, Problem> {
    let now = Timestamp::now().as_second();
    let life = app.config.sessions.access_token_seconds;
    let (tenant, role) = membership.map(|m| (m.tenant, m.role)).unzip();
    let claims = Claims {
        iss: app.config.auth.issuer.clone(),
        aud: app.config.auth.audience.clone(),
        sub: user.id,
        tid: tenant.as_ref().map(|tenant| tenant.id),
        role,
        adm: user.admin,
        iat: now,
        exp: now + i64::from(life),
        jti: new_jti(refresh.session)?,
    };
    Ok(SessionTokens {
        access_token: app.ring.sign(&claims)?,
        token_type: "Bearer",
        expires_in: life,
        refresh_token: refresh.text(),
        session_expires_at,
        user,
        tenant,
        role,
    })
}

/// The membership to act for: the wanted one, else the oldest in a tenant that works, else none.
///
/// # Errors
/// 403 when the wanted one is not there, or its tenant is suspended.
pub(super) fn choose(
    memberships: Vec<Membership>,
    wanted: Option<TenantId>,
) -> Result<Option<Membership>, Problem> {
    let Some(wanted) = wanted else {
        return Ok(memberships.into_iter().find(|m| m.state == TenantState::Active));
    };
    let membership = memberships.into_iter().find(|m| m.tenant.id == wanted).ok_or_else(|| {
        Problem::new(ProblemType::NotAMember, "There is no tenant with this id among yours.")
    })?;
    if membership.state == TenantState::Suspended {
        return Err(Problem::new(ProblemType::TenantSuspended, "Nobody can act for this tenant at present."));
    }
    Ok(Some(membership))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_token_reads_back_and_nothing_else_does() {
        let token = RefreshToken::generate(SessionId::new()).unwrap();
        let text = token.text();
        let back = RefreshToken::parse(&text).unwrap();
        assert_eq!((back.session, back.hash()), (token.session, token.hash()));
        for bad in
            ["", ".", &text[1..], &text[..text.len() - 1], &format!("{text}="), &text.replace('.', "/")]
        {
            assert!(RefreshToken::parse(bad).is_none(), "{bad}");
        }
        assert_eq!(session_of_jti(&new_jti(token.session).unwrap()), Some(token.session));
        assert_eq!(session_of_jti("whatever"), None);
    }

    #[test]
    fn the_oldest_working_tenant_is_the_default() {
        let membership = |state| Membership {
            tenant: TenantRef { id: TenantId::new(), name: "t".to_owned() },
            state,
            role: Role::Member,
        };
        let all = vec![
            membership(TenantState::Suspended),
            membership(TenantState::Active),
            membership(TenantState::Active),
        ];
        assert_eq!(choose(all.clone(), None).unwrap().unwrap().tenant.id, all[1].tenant.id);
        assert_eq!(choose(all.clone(), Some(all[2].tenant.id)).unwrap().unwrap().tenant.id, all[2].tenant.id);
        assert!(choose(all.clone(), Some(all[0].tenant.id)).unwrap_err().is(ProblemType::TenantSuspended));
        assert!(choose(all, Some(TenantId::new())).unwrap_err().is(ProblemType::NotAMember));
        assert!(choose(Vec::new(), None).unwrap().is_none());
    }
}
