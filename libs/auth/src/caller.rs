//! Axum extractors for calls of other services: on their own, or in the request of a user (the subject).
//!
//! A service sends its own token in `Authorization` and the user's access token in `x-atelier-subject`. The callee verifies
//! both, so that no service can invent a user. Public operations accept such requests as those of the user.

use std::collections::HashMap;

use api::{Problem, audit::Actor, subject};
use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, request::Parts},
};
use ids::TenantId;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::{
    extract::{HasAuth, bearer, verified},
    internal::{Subject, internal_rule},
    principal::Principal,
};

/// Services that may call internal operations: name → token.
pub type Callers = HashMap<String, SecretString>;

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
    /// Returns 404, as for what does not exist.
    pub fn acts_for(&self, tenant: TenantId) -> Result<(), Problem> {
        match &self.subject {
            Some(user) if user.tenant.is_none_or(|(own, _)| own != tenant) => Err(Problem::not_found()),
            _ => Ok(()),
        }
    }
}

/// Returns the name of the service that sends the request.
pub(crate) fn service_of(parts: &Parts, callers: &Callers) -> Result<String, Problem> {
    let token = bearer(parts)?;
    let mut found = None;
    // compares every configured token, so that the duration reveals nothing
    for (name, expected) in callers {
        if bool::from(expected.expose_secret().as_bytes().ct_eq(token.as_bytes())) {
            found = Some(name.clone());
        }
    }
    found.ok_or_else(|| Problem::unauthenticated("The service token is unknown."))
}

/// Returns the access token of the subject; none if the request has none.
pub(crate) fn subject_token(parts: &Parts) -> Result<Option<&str>, Problem> {
    let mut values = parts.headers.get_all(subject::HEADER).iter();
    match (values.next().map(HeaderValue::to_str), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(token)), None) if !token.is_empty() => Ok(Some(token)),
        _ => Err(Problem::unauthenticated("The request names its user in an invalid way.")),
    }
}

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for Caller {
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

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for OnBehalf {
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
