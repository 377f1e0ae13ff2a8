//! Axum extractors: the signature of a handler declares who may call it.

use std::{collections::HashMap, sync::Arc};

use api::{Problem, ProblemType, audit::Actor};
use axum::{
    extract::FromRequestParts,
    http::{Method, header, request::Parts},
};
use ids::TenantId;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tracing::{Span, field::display};

use crate::{
    jwks::Verifier,
    principal::{Principal, Role},
    scope::{Scope, Scopes, required_scope},
};

/// Services that may call internal operations: name → token.
pub type Callers = HashMap<String, SecretString>;

/// Verifiers that the extractors use; part of each service's state.
#[derive(Clone)]
pub struct AuthState {
    /// Verifies access tokens.
    pub verifier: Verifier,
    /// The configured service tokens.
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

async fn principal<S: HasAuth>(parts: &mut Parts, state: &S) -> Result<Principal, Problem> {
    let mut principal = state.auth().verifier.verify(bearer(parts)?).await?;
    name_in_log(&principal);
    if let Some(scopes) = principal.scopes {
        check_scope(scopes, &parts.method, parts.uri.path())?;
        principal.admin &= scopes.allow(Scope::of_administrators(&parts.method));
    }
    let Principal { user, session, admin: is_admin, .. } = principal;
    parts.extensions.insert(Actor { user, session, is_admin });
    Ok(principal)
}

/// Adds the caller to the span of the request, for its log lines.
fn name_in_log(principal: &Principal) {
    let span = Span::current();
    span.record("user.id", display(principal.user));
    if let Some((tenant, _)) = principal.tenant {
        span.record("tenant.id", display(tenant));
    }
}

/// # Errors
/// Returns 403 if the operation needs a scope that is missing.
fn check_scope(scopes: Scopes, method: &Method, path: &str) -> Result<(), Problem> {
    match required_scope(method, path) {
        Some(scope) if scopes.allow(scope) => Ok(()),
        Some(scope) => {
            let detail = format!("This needs the scope `{scope}`, which the API key does not have.");
            Err(Problem::new(ProblemType::InsufficientScope, detail).with("scope", scope))
        }
        None => Err(Problem::forbidden("No API key may do this.")),
    }
}

/// Any signed-in user.
#[derive(Debug, Clone)]
pub struct User(pub Principal);

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for User {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        principal(parts, state).await.map(Self)
    }
}

/// A platform administrator. A token with scopes needs `platform:read` or `platform:write` besides.
#[derive(Debug, Clone)]
pub struct Admin(pub Principal);

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for Admin {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = principal(parts, state).await?;
        if principal.admin {
            Ok(Self(principal))
        } else {
            Err(Problem::forbidden("Only platform administrators may do this."))
        }
    }
}

/// A user who acts for a tenant, with any role in it. Handlers that write call [`Member::writer`].
#[derive(Debug, Clone)]
pub struct Member {
    /// The tenant, from the verified token.
    pub tenant: TenantId,
    /// The caller.
    pub principal: Principal,
}

impl Member {
    /// Requires at least the role `member`.
    ///
    /// # Errors
    /// Returns 403 for a viewer.
    pub fn writer(&self) -> Result<(), Problem> {
        self.principal.tenant_as(Role::Member).map(drop)
    }

    /// Requires the role `owner`.
    ///
    /// # Errors
    /// Returns 403 for any other role.
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
    /// Configured name of the service.
    pub name: String,
}

impl Caller {
    /// Identifies the caller by its service token. For services that have no users.
    ///
    /// # Errors
    /// Returns 401 if the token is missing or unknown.
    pub fn of(parts: &Parts, callers: &Callers) -> Result<Self, Problem> {
        let token = bearer(parts)?;
        let mut found = None;
        // compares every configured token, so that the duration reveals nothing
        for (name, expected) in callers {
            if bool::from(expected.expose_secret().as_bytes().ct_eq(token.as_bytes())) {
                found = Some(name.clone());
            }
        }
        found
            .map(|name| Self { name })
            .ok_or_else(|| Problem::unauthenticated("The service token is unknown."))
    }
}

impl<S: HasAuth + Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Self::of(parts, &state.auth().callers)
    }
}
