//! Publishing the keys, and an administrator's request for the next one.

use api::{IdempotencyKey, Page, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{Admin, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::{HeaderName, StatusCode, header},
};
use ids::SigningKeyId;
use people::authority;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    SigningKeys,
    model::{SigningKey, SigningKeyRequest},
    store,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    SigningKeys: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(get_jwks))
        .routes(routes!(get_openid_configuration))
        .routes(routes!(list_signing_keys))
        .routes(routes!(rotate_signing_keys))
}

type Cached<T> = ([(HeaderName, String); 1], axum::Json<T>);

/// Verifiers cache the keys for at most half of the time for which a key is published before it signs.
fn cached<T>(keys: &SigningKeys, body: T) -> Cached<T> {
    let seconds = keys.rules.cache_seconds();
    ([(header::CACHE_CONTROL, format!("public, max-age={seconds}"))], axum::Json(body))
}

/// A JWK Set (RFC 7517): the JSON that the keyring caches.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct JwkSet {
    /// Public keys.
    keys: Vec<Jwk>,
}

/// An RSA public key (RFC 7517, RFC 7518).
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Jwk {
    /// Key type: `RSA`.
    kty: String,
    /// Use: `sig`.
    #[schema(rename = "use")]
    use_: String,
    /// Algorithm: `RS256`.
    alg: String,
    /// Key id, as in the header of a token.
    kid: String,
    /// Modulus, base64url.
    n: String,
    /// Exponent, base64url.
    e: String,
}

/// Returns the public keys of access tokens as a JWK Set (RFC 7517): the active key, the next, and those whose
/// tokens may not have expired.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", operation_id = "get_jwks", tag = "signing keys", security(()),
    responses(
        (status = 200, description = "A JWK Set", body = JwkSet),
    )
)]
async fn get_jwks(State(keys): State<SigningKeys>) -> Result<Cached<Value>, Problem> {
    let jwks = keys.keyring.jwks()?;
    Ok(cached(&keys, jwks))
}

/// An OpenID Connect discovery document.
#[derive(Debug, Serialize, ToSchema)]
struct Discovery {
    /// `iss` of the tokens.
    issuer: String,
    /// URL of the public keys.
    jwks_uri: String,
    /// URL to create sessions (JSON bodies, see `create_session`).
    token_endpoint: String,
    /// Empty: there is no browser redirect flow.
    response_types_supported: [&'static str; 0],
    /// Subject types: the same subject for every client.
    subject_types_supported: [&'static str; 1],
    /// Algorithms of token signatures.
    id_token_signing_alg_values_supported: [&'static str; 1],
}

/// Returns the OpenID Connect discovery document, with only the members that the verification of tokens needs.
#[utoipa::path(
    get, path = "/.well-known/openid-configuration", operation_id = "get_openid_configuration",
    tag = "signing keys", security(()),
    responses((status = 200, description = "The discovery document", body = Discovery))
)]
async fn get_openid_configuration(State(keys): State<SigningKeys>) -> Cached<Discovery> {
    let issuer = keys.issuer.clone();
    let base = issuer.trim_end_matches('/');
    let document = Discovery {
        jwks_uri: format!("{base}/.well-known/jwks.json"),
        token_endpoint: format!("{base}/v1/sessions"),
        response_types_supported: [],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        issuer,
    };
    cached(&keys, document)
}

fn shown(keys: &SigningKeys, public: &[store::PublicKey]) -> Vec<SigningKey> {
    let times: Vec<_> = public.iter().map(|key| key.active_from).collect();
    let stages = keys.rules.stages(&times, keys.clock.now());
    public
        .iter()
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

/// Lists all signing keys, in the order in which they sign.
#[utoipa::path(
    get, path = "/v1/signing-keys", operation_id = "list_signing_keys", tag = "signing keys",
    responses(
        (status = 200, description = "All keys", body = Page<SigningKey>),
    )
)]
async fn list_signing_keys(
    State(keys): State<SigningKeys>,
    _admin: Admin,
) -> Result<api::Json<Page<SigningKey>>, Problem> {
    let mut tx = keys.db.platform().await?;
    let public = store::public(&mut tx).await?;
    tx.commit().await?;
    Ok(api::Json(Page::last(shown(&keys, &public))))
}

/// Requests the next key now. It appears in `/v1/signing-keys` with the returned id within seconds, is published at once
/// and signs after `publish_before`. The active key stays published until its last token has expired. 409 while a next
/// key is already requested or published.
#[utoipa::path(
    post, path = "/v1/signing-keys/rotate", operation_id = "rotate_signing_keys", tag = "signing keys",
    params(IdempotencyKey),
    responses(
        (status = 202, description = "The next key is requested", body = SigningKeyRequest),
    ),
    extensions(("x-problems" = json!([ProblemType::RotationUnderWay]))),
)]
async fn rotate_signing_keys(
    State(keys): State<SigningKeys>,
    Admin(principal): Admin,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let reply = key
        .once(keys.db.platform().await?, principal.user, &(), async |tx| {
            authority::admin(tx, &principal).await?;
            store::lock(tx).await?;
            let times: Vec<_> = store::public(tx).await?.iter().map(|key| key.active_from).collect();
            let next = keys.rules.next(&times, keys.clock.now(), true);
            if next.is_none() || store::requested(tx).await?.is_some() {
                let detail = "The next signing key is already requested or published, and signs soon.";
                return Err(Problem::new(ProblemType::RotationUnderWay, detail));
            }
            let request = store::request(tx, SigningKeyId::new()).await?;
            Ok(Reply::json(StatusCode::ACCEPTED, &request)?.location("/v1/signing-keys"))
        })
        .await?;
    keys.keyring.request_reload();
    Ok(reply)
}
