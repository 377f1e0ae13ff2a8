//! Axum extractors: a handler's signature says who may call it.

use std::{collections::HashMap, sync::Arc};

use api::Problem;
use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use ids::TenantId;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::{
    jwks::Verifier,
    principal::{Principal, Role},
};

/// Services that may call internal operations: name → token.
pub type Callers = HashMap<String, SecretString>;

/// Verifiers that the extractors use; part of each service's state.
#[derive(Clone)]
pub struct AuthState {
    /// Verifies access tokens of people.
    pub verifier: Verifier,
    /// Known service tokens.
    pub callers: Arc<Callers>,
}

/// A router state that holds an [`AuthState`].
pub trait HasAuth {
    /// Returns the verifiers.
    fn auth(&self) -> &AuthState;
}

fn bearer(parts: &Parts) -> Result<&str, Problem> {
    parts
        .headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        })
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Problem::unauthenticated("The request carries no access token."))
}

async fn principal<S: HasAuth>(parts: &Parts, state: &S) -> Result<Principal, Problem> {
    state.auth().verifier.verify(bearer(parts)?).await
}

/// Any signed-in person.
#[derive(Debug, Clone)]
pub struct User(pub Principal);

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for User {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        principal(parts, state).await.map(Self)
    }
}

/// A platform administrator.
#[derive(Debug, Clone)]
pub struct Admin(pub Principal);

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for Admin {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = principal(parts, state).await?;
        if principal.admin {
            Ok(Self(principal))
        } else {
            Err(Problem::forbidden("This is for platform administrators."))
        }
    }
}

/// A person who acts for a tenant, with any role in it. Handlers that write call
/// [`Member::writer`].
#[derive(Debug, Clone)]
pub struct Member {
    /// The tenant, from the verified token.
    pub tenant: TenantId,
    /// The caller.
    pub principal: Principal,
}

impl Member {
    /// Refuses viewers.
    ///
    /// # Errors
    /// 403.
    pub fn writer(&self) -> Result<(), Problem> {
        self.principal.tenant_as(Role::Member).map(drop)
    }

    /// Refuses all but owners.
    ///
    /// # Errors
    /// 403.
    pub fn owner(&self) -> Result<(), Problem> {
        self.principal.tenant_as(Role::Owner).map(drop)
    }
}

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for Member {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = principal(parts, state).await?;
        let tenant = principal.tenant_as(Role::Viewer)?;
        Ok(Self { tenant, principal })
    }
}

/// Another service of the platform, identified by its service token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the service in the configuration.
    pub name: String,
}

impl Caller {
    /// Who sent the request, of these callers; for services that know no people.
    ///
    /// # Errors
    /// 401.
    pub fn of(parts: &Parts, callers: &Callers) -> Result<Self, Problem> {
        let token = bearer(parts)?;
        let mut found = None;
        // every configured token is compared, so that the time taken tells nothing
        for (name, expected) in callers {
            if bool::from(expected.expose_secret().as_bytes().ct_eq(token.as_bytes())) {
                found = Some(name.clone());
            }
        }
        found
            .map(|name| Self { name })
            .ok_or_else(|| Problem::unauthenticated("The service token is not known."))
    }
}

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Self::of(parts, &state.auth().callers)
    }
}
