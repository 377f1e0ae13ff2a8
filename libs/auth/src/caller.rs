//! Axum extractors for calls of other services: on their own, or in the request of a user (the subject).
//!
//! A service sends its own token in `Authorization` and the user's access token in `x-atelier-subject`. The callee verifies
//! both, so that no service can invent a user. Public operations accept such requests as those of the user.

use api::{Problem, audit::Actor};
use axum::{extract::FromRequestParts, http::request::Parts};
use ids::TenantId;
use secrecy::SecretString;

use crate::{
    credentials::{Callers, bearer, service_of, subject_token},
    extract::{HasAuth, verified},
    internal::{Subject, internal_rule},
    principal::Principal,
};

/// Another service of the platform, identified by its service token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Configured name of the service.
    pub name: String,
    /// The user in whose request the service calls; none if it acts on its own.
    pub subject: Option<Principal>,
}

impl Caller {
    /// Identifies the caller by its service token. For services that have no users.
    ///
    /// # Errors
    /// Returns 401 if the token is missing or unknown.
    pub fn of(parts: &Parts, callers: &Callers) -> Result<Self, Problem> {
        service_of(parts, callers).map(|name| Self { name, subject: None })
    }

    /// Requires that the user, if there is one, acts for this tenant.
    ///
    /// # Errors
    /// Returns 404, as if the object did not exist.
    pub fn acts_for(&self, tenant: TenantId) -> Result<(), Problem> {
        match &self.subject {
            Some(user) if user.tenant.is_none_or(|(own, _)| own != tenant) => Err(Problem::not_found()),
            _ => Ok(()),
        }
    }
}

impl<S: HasAuth> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = service_of(parts, &state.auth().callers)?;
        let rule = internal_rule(parts.uri.path()).filter(|rule| rule.allows(&name));
        let rule =
            rule.ok_or_else(|| Problem::forbidden(format!("The service `{name}` may not do this.")))?;
        let token = subject_token(parts)?.map(str::to_owned);
        let subject = match (rule.subject, token) {
            (Subject::None, Some(_)) => {
                return Err(Problem::forbidden("Services call this operation on their own, for no user."));
            }
            (Subject::Required(_), None) => {
                return Err(Problem::unauthenticated(
                    "The request does not name the user whose request it is.",
                ));
            }
            (Subject::None | Subject::Optional(_), None) => {
                parts.extensions.insert(Actor { service: Some(name.clone()), ..Actor::default() });
                None
            }
            (Subject::Optional(scope) | Subject::Required(scope), Some(token)) => {
                Some(verified(parts, state, &token, Some(scope), Some(name.clone())).await?)
            }
        };
        Ok(Self { name, subject })
    }
}

/// The user in whose request another service calls an internal operation.
#[derive(Debug, Clone)]
pub struct OnBehalf(pub Principal);

impl<S: HasAuth> FromRequestParts<S> for OnBehalf {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let subject = Caller::from_request_parts(parts, state).await?.subject;
        subject.map(Self).ok_or_else(|| Problem::unauthenticated("The request does not name its user."))
    }
}

/// The access token of the user whose request this is, to be sent on to other services. Follows the extractor that verifies
/// it in the signature of a handler.
#[derive(Debug, Clone)]
pub struct SubjectToken(pub SecretString);

impl<S: Send + Sync> FromRequestParts<S> for SubjectToken {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let unverified = || Problem::unauthenticated("The request carries no access token.");
        let actor: &Actor = parts.extensions.get().ok_or_else(unverified)?;
        let token = match &actor.service {
            Some(_) => subject_token(parts)?.ok_or_else(unverified)?,
            None => bearer(parts)?,
        };
        Ok(Self(token.into()))
    }
}
