//! Idempotent writes: `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
//!
//! The key is stored in the transaction of its effect, with a hash of the request and the response, so either both
//! exist or neither does, even after a crash. A missing key is 400, a key whose first request is in progress 409, a
//! key that was used for another request 422; the same request gets the stored response, marked
//! `Idempotency-Replayed: true`. A failed request stores no key. If the connection to the database is lost during the commit,
//! the answer is 503, and the same request with the same key is safe: it finds the key, or nothing of the first.
//!
//! Each service's schema has the table (`migrations/*/*_requests.sql`):
//! ```sql
//! create table idempotency_keys (
//!     scope        text        not null,  -- who: 'ten_…', 'admin', 'service:gpu'
//!     key          text        not null,
//!     request_hash bytea       not null,
//!     status       int         not null,
//!     headers      jsonb       not null,
//!     body         jsonb,
//!     created_at   timestamptz not null default now(),
//!     primary key (scope, key)
//! );
//! ```

mod group;
mod store;

use std::{borrow::Cow, fmt::Display};

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::{
    audit,
    etag::ETag,
    problem::{Problem, ProblemType},
};

/// The response to a write. It can be stored and replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The HTTP status, 2xx.
    pub status: StatusCode,
    /// `ETag`.
    pub etag: Option<i64>,
    /// `Location`.
    pub location: Option<String>,
    /// The JSON body; none for 204.
    pub body: Option<Value>,
    replayed: bool,
    unstored: Option<Value>,
}

impl Reply {
    /// A response with a body.
    ///
    /// # Errors
    /// Returns 500 if the value does not serialize.
    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_value(body).map_err(Problem::internal)?;
        Ok(Self { status, etag: None, location: None, body: Some(body), replayed: false, unstored: None })
    }

    /// A response 204.
    #[must_use]
    pub fn no_content() -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            etag: None,
            location: None,
            body: None,
            replayed: false,
            unstored: None,
        }
    }

    /// Adds the entity tag of the resource in the body.
    #[must_use]
    pub fn etag(mut self, generation: i64) -> Self {
        self.etag = Some(generation);
        self
    }

    /// Adds the URL of the created resource.
    #[must_use]
    pub fn location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// URL of the object that the request to `path` has created. `Location` may be the URL of an operation that creates
    /// it or changes an existing one.
    fn created<'a>(&'a self, path: &str) -> Option<Cow<'a, str>> {
        let location = self.location.as_deref()?;
        let id = self.body.as_ref().and_then(|body| body["id"].as_str());
        match id.filter(|id| self.status == StatusCode::ACCEPTED && !location.ends_with(id)) {
            None => Some(location.into()),
            Some(id) => (!path.contains(id)).then(|| format!("{path}/{id}").into()),
        }
    }

    /// Adds members of the body that are returned once: secrets. They are not stored, and a replay omits them.
    #[must_use]
    pub fn once_only(mut self, members: Value) -> Self {
        self.unstored = Some(members);
        self
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut body = self.body;
        if let (Some(Value::Object(body)), Some(Value::Object(secret))) = (&mut body, self.unstored) {
            body.extend(secret);
        }
        let mut response = match body {
            Some(body) => (self.status, axum::Json(body)).into_response(),
            None => self.status.into_response(),
        };
        let headers = response.headers_mut();
        if let Some(generation) = self.etag {
            headers.insert(header::ETAG, ETag(generation).header_value());
        }
        if let Some(location) = self.location.and_then(|l| HeaderValue::from_str(&l).ok()) {
            headers.insert(header::LOCATION, location);
        }
        if self.replayed {
            headers.insert(HeaderName::from_static("idempotency-replayed"), HeaderValue::from_static("true"));
        }
        response
    }
}

/// The key of one write, with the request's method and path.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    key: String,
    request: String,
    audit: audit::Request,
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Err(Problem::new(
                ProblemType::IdempotencyKeyRequired,
                "Every write needs the header Idempotency-Key.",
            ));
        };
        let key = value.to_str().unwrap_or_default().trim().trim_matches('"');
        if key.is_empty() || key.len() > 255 || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Problem::new(
                ProblemType::IdempotencyKeyInvalid,
                "The key must be 1 to 255 visible ASCII characters.",
            ));
        }
        let request = format!("{} {}", parts.method, parts.uri.path());
        Ok(Self { key: key.to_owned(), request, audit: audit::Request::of(parts) })
    }
}

impl IdempotencyKey {
    /// The key as the caller sent it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// Carries out `effect` at most once for this key in this `scope` (the caller), within the transaction `tx`, and
    /// commits it, together with its entry in the audit log. `body` is the parsed request.
    ///
    /// # Errors
    /// Returns 409 or 422 (see the module), or the problem of the effect. The transaction is then rolled back.
    pub async fn once<F>(
        &self,
        mut tx: Transaction<'_, Postgres>,
        scope: impl Display,
        body: &impl Serialize,
        effect: F,
    ) -> Result<Reply, Problem>
    where
        F: AsyncFnOnce(&mut PgConnection) -> Result<Reply, Problem>,
    {
        // ends the transaction before the response is sent, so that the key can be used again at once
        match self.carry_out(&mut tx, &scope.to_string(), body, effect).await {
            Ok(reply) => {
                tx.commit().await.map_err(outcome_unknown)?;
                Ok(reply)
            }
            Err(problem) => {
                // if the rollback fails, the transaction ends with its connection
                let _ = tx.rollback().await;
                Err(problem)
            }
        }
    }

    async fn carry_out<F>(
        &self,
        tx: &mut PgConnection,
        scope: &str,
        body: &impl Serialize,
        effect: F,
    ) -> Result<Reply, Problem>
    where
        F: AsyncFnOnce(&mut PgConnection) -> Result<Reply, Problem>,
    {
        let hash = self.hash(body)?;
        let (is_locked, stored) = store::lock(tx, scope, &self.key).await?;
        if !is_locked {
            return Err(in_use());
        }
        if let Some(stored) = stored {
            return stored.reply_to(&hash);
        }
        let reply = effect(tx).await?;
        store::insert(tx, scope, &self.key, &hash, &reply).await.map_err(missed)?;
        // last: it locks the log of the tenant until the commit
        let created = reply.created(self.audit.path());
        self.audit.record(tx, reply.status, created.as_deref(), body).await?;
        Ok(reply)
    }

    fn hash(&self, body: &impl Serialize) -> Result<Vec<u8>, Problem> {
        let mut hasher = Sha256::new();
        hasher.update(self.request.as_bytes());
        hasher.update(b"\n");
        hasher.update(serde_json::to_vec(body).map_err(Problem::internal)?);
        Ok(hasher.finalize().to_vec())
    }
}

fn in_use() -> Problem {
    Problem::new(ProblemType::IdempotencyKeyInUse, "A request with the same Idempotency-Key is in progress.")
}

/// Another request with the key was committed while this one waited for the lock.
fn missed(error: sqlx::Error) -> Problem {
    match error {
        sqlx::Error::Database(error) if error.is_unique_violation() => in_use(),
        error => error.into(),
    }
}

/// The commit was sent but not confirmed: either the whole write has taken effect, with its key, or nothing
/// has. The same request with the same key then gets the stored response, or carries out the write.
fn outcome_unknown(error: sqlx::Error) -> Problem {
    let mut problem = Problem::from(error);
    if problem.is(ProblemType::Unavailable) {
        "The database did not confirm the write, which may have taken effect."
            .clone_into(&mut problem.detail);
    }
    problem
}

/// Deletes up to `limit` keys older than a day, the time for which a repeated request is recognized. Called
/// periodically by a worker of each service.
///
/// # Errors
/// If the database fails.
pub async fn forget_old(conn: &mut PgConnection, limit: i64) -> sqlx::Result<u64> {
    store::forget_old(conn, limit).await
}

#[cfg(test)]
mod tests {
    use axum::{extract::FromRequestParts, http::Request};

    use super::*;

    #[tokio::test]
    async fn a_key_is_read_without_quotes_and_spaces() {
        let mut parts = Request::post("/v1/things")
            .header("idempotency-key", " \"a-key\" ")
            .body(())
            .unwrap()
            .into_parts()
            .0;
        let key = IdempotencyKey::from_request_parts(&mut parts, &()).await.unwrap();
        assert_eq!(key.as_str(), "a-key");
    }

    #[test]
    fn what_was_created_is_the_object_and_not_its_operation() {
        for (path, status, location, created) in [
            ("/v1/things", StatusCode::CREATED, "/v1/things/t_1", Some("/v1/things/t_1")),
            ("/v1/things", StatusCode::ACCEPTED, "/v1/operations/op_1", Some("/v1/things/t_1")),
            ("/v1/things/t_1/start", StatusCode::ACCEPTED, "/v1/operations/op_1", None),
            (
                "/v1/things/t_1/stop",
                StatusCode::ACCEPTED,
                "/v1/platform-things/t_1",
                Some("/v1/platform-things/t_1"),
            ),
        ] {
            let body = serde_json::json!({ "id": "t_1" });
            let reply = Reply::json(status, &body).unwrap().location(location);
            assert_eq!(reply.created(path).as_deref(), created, "{path} {location}");
        }
        assert_eq!(Reply::no_content().created("/v1/things"), None);
    }
}
