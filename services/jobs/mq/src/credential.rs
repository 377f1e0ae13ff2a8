//! `/v1/mq-credentials`: credentials with which tenants sign in at the broker.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{ApiKeyId, MqCredentialId, UserId};
use jiff::Timestamp;
use rand::RngExt as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Parts,
    store::{self, MqCredential},
    topology::{JOBS, queue_of},
};

/// Maximum number of credentials of a tenant.
const MOST: i64 = 20;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_mq_credentials, create_mq_credential))
        .routes(routes!(delete_mq_credential))
        .routes(routes!(take_over_mq_credential))
}

/// A credential to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewMqCredential {
    /// Name for people: 1 to 100 characters.
    #[schema(example = "render farm")]
    #[serde(deserialize_with = "api::text::nfc")]
    name: String,
}

/// A credential of a tenant for the message broker.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MqCredential)]
struct MqCredentialView {
    /// Credential id: the user name at the broker, and the `user_id` of each message.
    id: MqCredentialId,
    /// Name for people.
    #[schema(example = "render farm")]
    name: String,
    /// The password at the broker. Sent once: null in all other responses.
    #[schema(example = "amq_5f0c")]
    secret: Option<String>,
    /// Address of the broker, or null if it is not configured.
    #[schema(example = "amqps://mq.example.com:5671/%2f")]
    url: Option<String>,
    /// The exchange to which jobs are published, with the routing key `urgent` or `ordinary`.
    #[schema(example = "atelier.jobs")]
    exchange: &'static str,
    /// The queue of the tenant's events.
    #[schema(example = "events.ten_01939f0a7c3d7e6b8a1f4f0d5c2b1a00")]
    queue: String,
    /// The user who created it, or took it over: it ends with this user's rights in the tenant. Null if it belongs to
    /// the tenant, for example because its maker was not recorded.
    created_by: Option<UserId>,
    /// The API key with which it was created and with which it ends, or null.
    created_by_key: Option<ApiKeyId>,
    /// Time of creation.
    created_at: Timestamp,
}

impl MqCredentialView {
    fn new(parts: &Parts, credential: MqCredential) -> Self {
        Self {
            id: credential.id,
            name: credential.name,
            secret: None,
            url: parts.config.as_ref().and_then(|mq| mq.public_url.clone()),
            exchange: JOBS,
            queue: queue_of(credential.tenant_id),
            created_by: credential.created_by,
            created_by_key: credential.created_by_key,
            created_at: credential.created_at,
        }
    }
}

/// The hash by which a secret is stored. It has 256 random bits, so that a fast hash suffices.
pub(super) fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

fn secret() -> SecretString {
    let random: [u8; 32] = rand::rng().random();
    format!("amq_{}", hex::encode(random)).into()
}

/// Lists the credentials of the tenant, oldest first.
#[utoipa::path(
    get, path = "/v1/mq-credentials", operation_id = "list_mq_credentials", tag = "message queue", params(PageParams),
    responses((status = 200, description = "A page", body = Page<MqCredentialView>))
)]
async fn list_mq_credentials(
    State(parts): State<Parts>,
    member: Member,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<MqCredentialView>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let credentials = store::list(&mut tx, member.tenant, page.after, page.rows()).await?;
    let page = page.page(credentials, |credential| credential.id);
    Ok(Json(page.map(|credential| MqCredentialView::new(&parts, credential))))
}

/// Creates a credential for the message broker, to submit jobs and read events. The password is returned once, as
/// `secret`; a replayed request returns none. The credential ends with its maker: when the user is removed from the
/// tenant, disabled or becomes a viewer, or the API key is deleted or expires. An owner can take it over before that.
/// An API key needs `jobs:write` as well, and cannot have a limit of requests, since messages are not counted.
#[utoipa::path(
    post, path = "/v1/mq-credentials", operation_id = "create_mq_credential", tag = "message queue",
    params(IdempotencyKey),
    request_body = NewMqCredential,
    responses((status = 201, description = "The new credential", body = MqCredentialView)),
    extensions(("x-problems" = json!([ProblemType::ApiKeyLimited, ProblemType::TenantSuspended, ProblemType::TooManyMqCredentials])))
)]
async fn create_mq_credential(
    State(parts): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewMqCredential>,
) -> Result<Reply, Problem> {
    member.writer()?;
    if parts.config.is_none() {
        return Err(Problem::new(ProblemType::Unavailable, "This installation has no message broker."));
    }
    let mut checks = Checks::default();
    checks.display_name("/name", &new.name, 100);
    checks.finish()?;
    let tenant = member.tenant;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &new, async |tx| {
            tenants::check_active(tx, tenant).await?;
            store::lock_credentials_of(tx, tenant).await?;
            if store::count(tx, tenant).await? >= MOST {
                return Err(Problem::new(
                    ProblemType::TooManyMqCredentials,
                    format!("The tenant already has {MOST} credentials for the message broker, the maximum."),
                )
                .with("limit", MOST));
            }
            let (id, secret) = (MqCredentialId::new(), secret());
            let made =
                store::insert(tx, tenant, id, &new.name, &hash(secret.expose_secret()), &member.principal)
                    .await?;
            let reply = Reply::json(StatusCode::CREATED, &MqCredentialView::new(&parts, made))?;
            Ok(reply.once_only(json!({ "secret": secret.expose_secret() })))
        })
        .await?;
    parts.broker.queue_declared(tenant).await;
    Ok(reply)
}

/// Takes over a credential: the caller, an owner, becomes its maker, and it ends with the caller's rights. Everyone who
/// knows its password can still use it; to prevent that, replace it by a new one.
#[utoipa::path(
    post, path = "/v1/mq-credentials/{id}/take-over", operation_id = "take_over_mq_credential",
    tag = "message queue",
    params(("id" = MqCredentialId, Path, description = "Credential id"), IdempotencyKey),
    responses((status = 200, description = "The credential", body = MqCredentialView)),
    extensions(("x-problems" = json!([ProblemType::ApiKeyLimited])))
)]
async fn take_over_mq_credential(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<MqCredentialId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.owner()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        let taken =
            store::take_over(tx, tenant, id, &member.principal).await?.ok_or_else(Problem::not_found)?;
        Reply::json(StatusCode::OK, &MqCredentialView::new(&parts, taken))
    })
    .await
}

/// Deletes a credential. The broker refuses new connections with it and closes the open ones.
#[utoipa::path(
    delete, path = "/v1/mq-credentials/{id}", operation_id = "delete_mq_credential", tag = "message queue",
    params(("id" = MqCredentialId, Path, description = "Credential id"), IdempotencyKey),
    responses((status = 204, description = "Deleted"))
)]
async fn delete_mq_credential(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<MqCredentialId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
            if !store::delete(tx, tenant, id).await? {
                return Err(Problem::not_found());
            }
            Ok(Reply::no_content())
        })
        .await?;
    parts.broker.credentials_ended();
    Ok(reply)
}
