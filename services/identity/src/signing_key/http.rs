//! Publishing the keys, and an administrator's rotation.

use api::{IdempotencyKey, Page, Problem, ProblemType, Reply};
use auth::Admin;
use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Rules, SigningKey},
    ring, store,
};
use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_jwks))
        .routes(routes!(get_openid_configuration))
        .routes(routes!(list_signing_keys))
        .routes(routes!(rotate_signing_keys))
}

type Cached<T> = ([(HeaderName, String); 1], axum::Json<T>);

/// Verifiers keep it for at most half of the time for which a key is published before it signs.
fn cached<T>(app: &App, body: T) -> Cached<T> {
    let seconds = (app.config.signing.publish_before_seconds / 2).min(300);
    ([(header::CACHE_CONTROL, format!("public, max-age={seconds}"))], axum::Json(body))
}

/// The public keys of access tokens (RFC 7517): the one that signs, the next, and those whose tokens
/// may still live.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", operation_id = "get_jwks", tag = "signing keys", security(()),
    responses(
        (status = 200, description = "A JWK Set", body = Value),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_jwks(State(app): State<App>) -> Result<Cached<Value>, Problem> {
    let jwks = app.ring.jwks()?;
    Ok(cached(&app, jwks))
}

/// What OpenID Connect clients discover.
#[derive(Debug, Serialize, ToSchema)]
struct Discovery {
    /// `iss` of the tokens.
    issuer: String,
    /// Where the keys are.
    jwks_uri: String,
    /// Where sessions are made and refreshed (JSON bodies: see `create_session`).
    token_endpoint: String,
    /// None: there is no browser redirect flow.
    response_types_supported: [&'static str; 0],
    /// Subjects are the same for every client.
    subject_types_supported: [&'static str; 1],
    /// How tokens are signed.
    id_token_signing_alg_values_supported: [&'static str; 1],
}

/// Discovery document (the parts of OpenID Connect Discovery that verifying a token needs).
#[utoipa::path(
    get, path = "/.well-known/openid-configuration", operation_id = "get_openid_configuration",
    tag = "signing keys", security(()),
    responses((status = 200, description = "The document", body = Discovery))
)]
async fn get_openid_configuration(State(app): State<App>) -> Cached<Discovery> {
    let issuer = app.config.auth.issuer.clone();
    let base = issuer.trim_end_matches('/');
    let document = Discovery {
        jwks_uri: format!("{base}/.well-known/jwks.json"),
        token_endpoint: format!("{base}/v1/sessions"),
        response_types_supported: [],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        issuer,
    };
    cached(&app, document)
}

fn shown(app: &App, keys: &[store::Public]) -> Vec<SigningKey> {
    let times: Vec<_> = keys.iter().map(|key| key.active_from).collect();
    let stages = Rules::new(&app.config).stages(&times, Timestamp::now());
    keys.iter()
        .zip(stages)
        .map(|(key, stage)| SigningKey {
            id: key.id,
            algorithm: "RS256",
            stage,
            active_from: key.active_from,
            created_at: key.created_at,
        })
        .collect()
}

/// The signing keys, in the order in which they sign. Never more than a few.
#[utoipa::path(
    get, path = "/v1/signing-keys", operation_id = "list_signing_keys", tag = "signing keys",
    responses(
        (status = 200, description = "All of them", body = Page<SigningKey>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_signing_keys(
    State(app): State<App>,
    _admin: Admin,
) -> Result<api::Json<Page<SigningKey>>, Problem> {
    let mut tx = app.db.platform().await?;
    let keys = store::public(&mut tx).await?;
    tx.commit().await?;
    Ok(api::Json(Page { items: shown(&app, &keys), next_cursor: None }))
}

/// Makes the next key now: it is published at once, signs after `publish_before`, and the present one
/// stays published until its last token has ended. 409 while a next key is already waiting.
#[utoipa::path(
    post, path = "/v1/signing-keys/rotate", operation_id = "rotate_signing_keys", tag = "signing keys",
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    responses(
        (status = 201, description = "The next key", body = SigningKey),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn rotate_signing_keys(
    State(app): State<App>,
    Admin(principal): Admin,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let made = {
        let app = app.clone();
        tokio::task::spawn_blocking(move || ring::generate(&app.vault, Timestamp::now()))
            .await
            .map_err(Problem::internal)?
            .map_err(Problem::internal)?
    };
    let reply = key
        .once(app.db.platform().await?, principal.user, &(), async |tx| {
            store::lock(tx).await?;
            let times: Vec<_> = store::public(tx).await?.iter().map(|key| key.active_from).collect();
            let active_from =
                Rules::new(&app.config).next(&times, Timestamp::now(), true).ok_or_else(|| {
                    Problem::new(
                        ProblemType::RotationUnderWay,
                        "The next signing key is already published and will sign soon.",
                    )
                })?;
            let made = store::Stored { active_from, ..made };
            store::insert(tx, &made).await?;
            let keys = store::public(tx).await?;
            let shown = shown(&app, &keys);
            let shown = shown.iter().find(|key| key.id == made.id);
            Reply::json(StatusCode::CREATED, &shown)
        })
        .await?;
    app.ring.nudge();
    Ok(reply)
}
