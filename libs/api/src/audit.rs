//! The record of a write, for the audit log (libs/audit): who did what, from where, with which result.
//!
//! [`IdempotencyKey::once`](crate::IdempotencyKey::once) records each write in the transaction of its effect. A write
//! without an idempotency key calls [`Request::record`].

use std::{borrow::Cow, convert::Infallible};

use axum::{
    extract::{FromRequestParts, MatchedPath},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use ids::{ApiKeyId, SessionId, TenantId, UserId};
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::request_id;

/// The longest user agent that is recorded, in characters.
const MAX_USER_AGENT: usize = 200;

/// The sender of a request: a user, a service on its own, or a service in the request of a user. The
/// extractors of libs/auth store it in the request's extensions.
#[derive(Debug, Clone, Default)]
pub struct Actor {
    /// The user; none for a service on its own.
    pub user: Option<UserId>,
    /// The session of the token.
    pub session: Option<SessionId>,
    /// The API key that was exchanged for the token.
    pub api_key: Option<ApiKeyId>,
    /// Whether the user is a platform administrator.
    pub is_admin: bool,
    /// The service that sends the request; none for requests that the gateway forwards.
    pub service: Option<String>,
}

/// A request, in the form in which it is recorded.
#[derive(Debug, Clone)]
pub struct Request {
    /// None for requests without a credential.
    actor: Option<Actor>,
    /// Method and path template.
    operation: String,
    path: String,
    address: Option<String>,
    user_agent: Option<String>,
    request_id: Option<String>,
}

impl Request {
    pub(crate) fn of(parts: &Parts) -> Self {
        let template = parts.extensions.get::<MatchedPath>().map_or(parts.uri.path(), MatchedPath::as_str);
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            actor: parts.extensions.get().cloned(),
            operation: format!("{} {template}", parts.method),
            path: parts.uri.path().to_owned(),
            address: address(&parts.headers),
            user_agent: text(header::USER_AGENT).map(|agent| agent.chars().take(MAX_USER_AGENT).collect()),
            request_id: text(request_id::HEADER).map(str::to_owned),
        }
    }

    /// A command of a program of the platform's operators, or an action of a service by its configuration: it
    /// has no request, and no user of the platform. `program` is recorded as the service. `by`, such as a
    /// user of the operating system, is recorded outside the chain, like user agents.
    #[must_use]
    pub fn of_program(program: &str, command: &str, path: String, by: Option<&str>) -> Self {
        let by = by.map(|by| by.chars().take(MAX_USER_AGENT).collect());
        Self {
            actor: Some(Actor { is_admin: true, service: Some(program.to_owned()), ..Actor::default() }),
            operation: format!("{program} {command}"),
            path,
            address: None,
            user_agent: by,
            request_id: None,
        }
    }

    /// An action of a service on its own, because something has ended. It has no request, and no user.
    #[must_use]
    pub fn of_service(service: &str, action: &str, path: String) -> Self {
        let actor = Actor { service: Some(service.to_owned()), ..Actor::default() };
        Self { actor: Some(actor), ..Self::of_program(service, action, path, None) }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The request of a user who has just signed in, and has sent no token.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self { actor: Some(actor), ..self.clone() }
    }

    /// Appends an entry to the audit log of the transaction's tenant, or of the platform. The log is locked until the
    /// transaction ends: call it last.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn record(
        &self,
        conn: &mut PgConnection,
        status: StatusCode,
        created: Option<&str>,
        body: &impl Serialize,
    ) -> sqlx::Result<()> {
        record_all(conn, [(self, status, created.map(Cow::from), body)].into_iter()).await
    }

    /// The entry and its origin. None for requests without a credential.
    fn entry(
        &self,
        status: StatusCode,
        created: Option<&str>,
        body: &impl Serialize,
    ) -> Option<(Value, Value)> {
        let actor = self.actor.as_ref()?;
        let entry = json!({
            "user_id": actor.user, "session_id": actor.session, "api_key_id": actor.api_key,
            "is_admin": actor.is_admin, "service": actor.service,
            "operation": self.operation, "path": self.path, "created": created, "fields": fields(body),
            "status": status.as_u16(), "request_id": self.request_id,
        });
        Some((entry, json!({ "address": self.address, "user_agent": self.user_agent })))
    }

    /// Like [`Self::record`], in the log of `tenant`: for a transaction of workers, which belongs to no tenant.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn record_for(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        status: StatusCode,
        body: &impl Serialize,
    ) -> sqlx::Result<()> {
        sqlx::query_scalar!("select set_config('atelier.tenant', $1, true)", tenant.uuid().to_string())
            .fetch_one(&mut *conn)
            .await?;
        self.record(conn, status, None, body).await
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Request {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// Like [`Request::record`], for several writes, in their order.
///
/// # Errors
/// If the database fails.
pub(crate) async fn record_all<'a, B: Serialize + 'a>(
    conn: &mut PgConnection,
    writes: impl Iterator<Item = (&'a Request, StatusCode, Option<Cow<'a, str>>, &'a B)>,
) -> sqlx::Result<()> {
    let (entries, origins): (Vec<Value>, Vec<Value>) = writes
        .filter_map(|(request, status, created, body)| request.entry(status, created.as_deref(), body))
        .unzip();
    if entries.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "select audit_append(entry, origin) from unnest($1::jsonb[], $2::jsonb[]) as writes(entry, origin)",
        &entries,
        &origins,
    )
    .fetch_all(conn)
    .await
    .map(drop)
}

/// The address of the client: the last of the list, which the gateway has added.
fn address(headers: &HeaderMap) -> Option<String> {
    let list = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    list.rsplit(',').next().map(|address| address.trim().to_owned())
}

/// The names of the body's fields, without their values: some are secret.
fn fields(body: &impl Serialize) -> Vec<String> {
    match serde_json::to_value(body) {
        Ok(Value::Object(members)) => {
            members.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_without_their_values() {
        assert_eq!(fields(&json!({ "password": "secret", "name": null })), ["password"]);
        assert!(fields(&()).is_empty());
    }

    #[test]
    fn the_address_is_the_one_that_the_nearest_proxy_added() {
        let headers = |value: &str| {
            [("x-forwarded-for".parse().unwrap(), value.parse().unwrap())].into_iter().collect()
        };
        assert_eq!(address(&headers("10.0.0.1, 192.0.2.7")).as_deref(), Some("192.0.2.7"));
        assert_eq!(address(&HeaderMap::new()), None);
    }
}
