//! Axum extractors: the signature of a handler declares who may call it.

use std::sync::Arc;

use api::{Problem, ProblemType, audit::Actor};
use axum::{extract::FromRequestParts, http::request::Parts};
use ids::{SessionId, TenantId};
use tracing::{Span, field::display};

use crate::{
    credentials::{Callers, bearer, service_of, subject_token},
    jwks::Verifier,
    principal::{Principal, Role},
    scope::{Making, Scope, Scopes, making, required_scope},
};

/// Verifiers that the extractors use; part of each service's state.
#[derive(Clone)]
pub struct AuthState {
    /// Verifies access tokens.
    pub verifier: Verifier,
    /// The configured service tokens.
    pub callers: Arc<Callers>,
}

/// A router state that holds an [`AuthState`].
pub trait HasAuth: Clone + Send + Sync + 'static {
    /// Returns the verifiers.
    fn auth(&self) -> &AuthState;
}

/// Verifies the user of a public operation: the caller, or the subject of another service's call.
async fn principal<S: HasAuth>(parts: &mut Parts, state: &S) -> Result<Principal, Problem> {
    let (token, service) = match subject_token(parts)? {
        Some(subject) => (subject.to_owned(), Some(service_of(parts, &state.auth().callers)?)),
        None => (bearer(parts)?.to_owned(), None),
    };
    let required = required_scope(&parts.method, parts.uri.path());
    verified(parts, state, &token, required, service).await
}

/// Verifies a user's token and its scope, and notes who sends the request. `service` is the service that sends it.
pub(crate) async fn verified<S: HasAuth>(
    parts: &mut Parts,
    state: &S,
    token: &str,
    required: Option<Scope>,
    service: Option<String>,
) -> Result<Principal, Problem> {
    let mut principal = state.auth().verifier.verify(token).await?;
    name_in_log(&principal);
    if let Some(scopes) = principal.scopes {
        principal.admin &= scopes.allow(Scope::of_administrators(&parts.method));
        // some data that administrators read across tenants is in other services
        let is_for_admin = principal.admin && parts.uri.path().starts_with("/internal/");
        if !is_for_admin {
            check_scope(scopes, required)?;
        }
        check_making(&principal, scopes, making(&parts.method, parts.uri.path()))?;
    }
    let Principal { user, session, api_key, admin: is_admin, .. } = principal;
    parts.extensions.insert(Actor { user: Some(user), session, api_key, is_admin, service });
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
fn check_scope(scopes: Scopes, required: Option<Scope>) -> Result<(), Problem> {
    match required {
        Some(scope) if scopes.allow(scope) => Ok(()),
        Some(scope) => {
            let detail = format!("This needs the scope `{scope}`, which the API key does not have.");
            Err(Problem::new(ProblemType::InsufficientScope, detail).with("scope", scope))
        }
        None => Err(Problem::forbidden("API keys may not do this.")),
    }
}

/// # Errors
/// Returns 403 if the created object could do more than the API key.
fn check_making(principal: &Principal, scopes: Scopes, needs: Making) -> Result<(), Problem> {
    if needs.scope.is_some() {
        check_scope(scopes, needs.scope)?;
    }
    if needs.unlimited && principal.limited {
        let detail =
            "This API key has a limit of requests, which cannot be applied to what this operation creates.";
        return Err(Problem::new(ProblemType::ApiKeyLimited, detail));
    }
    Ok(())
}

/// Any signed-in user.
#[derive(Debug, Clone)]
pub struct User(pub Principal);

impl<S: HasAuth> FromRequestParts<S> for User {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        principal(parts, state).await.map(Self)
    }
}

/// A platform administrator. A token with scopes needs `platform:read` or `platform:write` besides.
#[derive(Debug, Clone)]
pub struct Admin(pub Principal);

impl<S: HasAuth> FromRequestParts<S> for Admin {
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

/// A person who has signed in. For changes of sign-in methods and permanent rights, which an API key may not make,
/// whatever its scopes, because it may have leaked.
#[derive(Debug, Clone)]
pub struct Person {
    /// The caller.
    pub principal: Principal,
    /// The session of the caller.
    pub session: SessionId,
}

impl<S: HasAuth> FromRequestParts<S> for Person {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = principal(parts, state).await?;
        let session = principal.person()?;
        Ok(Self { principal, session })
    }
}

/// A platform administrator who has signed in: like [`Person`], for changes that concern other people.
#[derive(Debug, Clone)]
pub struct AdminPerson(pub Principal);

impl<S: HasAuth> FromRequestParts<S> for AdminPerson {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Admin(principal) = Admin::from_request_parts(parts, state).await?;
        principal.person()?;
        Ok(Self(principal))
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

impl<S: HasAuth> FromRequestParts<S> for Member {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = principal(parts, state).await?;
        let tenant = principal.tenant_as(Role::Viewer)?;
        Ok(Self { tenant, principal })
    }
}
