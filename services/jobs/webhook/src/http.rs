//! `/v1/webhooks`.

use std::time::Duration;

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use encryption::{Cipher, Encrypted};
use ids::{DeliveryId, WebhookId};
use jobs_core::event::EventType;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    deliveries::{self, NewDelivery},
    fan_out::body,
    model::{Delivery, DeliveryState, MAX_EVENTS, MAX_URL, NewWebhook, TEST, Webhook, WebhookChange},
    signature, store,
};

/// Webhooks that a tenant may have.
const MAX_WEBHOOKS: i64 = 16;
/// How long the previous secret stays valid.
const OVERLAP: Duration = Duration::from_hours(24);

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_webhooks, create_webhook))
        .routes(routes!(get_webhook, update_webhook, delete_webhook))
        .routes(routes!(rotate_webhook_secret))
        .routes(routes!(take_over_webhook))
        .routes(routes!(test_webhook))
        .routes(routes!(list_webhook_deliveries))
}

/// A webhook with its new secret.
#[derive(Debug, Serialize, ToSchema)]
struct WebhookWithSecret {
    #[serde(flatten)]
    webhook: Webhook,
    /// Secret with which messages are signed. Sent once: null when the request is repeated.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    secret: Option<String>,
}

impl WebhookWithSecret {
    fn reply(webhook: Webhook, status: StatusCode, secret: &[u8]) -> Result<Reply, Problem> {
        let generation = webhook.generation;
        let reply = Reply::json(status, &Self { webhook, secret: None })?.etag(generation);
        Ok(reply.once_only(json!({ "secret": signature::shown(secret).expose_secret() })))
    }
}

fn cipher(parts: &Parts) -> Result<&Cipher, Problem> {
    let none = || Problem::new(ProblemType::Unavailable, "Webhooks are not configured on this platform.");
    parts.webhooks.cipher().ok_or_else(none)
}

/// A new secret of a webhook, and how it is stored.
fn new_secret(cipher: &Cipher, id: WebhookId) -> Result<([u8; 32], Encrypted), Problem> {
    let secret = signature::generate();
    let encrypted = cipher.encrypt(&secret, &store::context(id)).map_err(Problem::internal)?;
    Ok((secret, encrypted))
}

fn check(parts: &Parts, url: Option<&str>, events: Option<&[EventType]>) -> Result<(), Problem> {
    let mut checks = Checks::default();
    if let Some(url) = url {
        checks.length("/url", url, MAX_URL);
        if let Err(why) = parts.webhooks.sender().check(url) {
            checks.refuse("/url", why);
        }
    }
    let count = events.map_or(0, <[_]>::len);
    checks.require(count <= MAX_EVENTS, "/events", format!("must have at most {MAX_EVENTS} entries"));
    Ok(checks.finish()?)
}

/// Lists the webhooks of the tenant, oldest first.
#[utoipa::path(
    get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "webhooks", params(PageParams),
    responses((status = 200, description = "A page", body = Page<Webhook>))
)]
async fn list_webhooks(
    State(parts): State<Parts>,
    member: Member,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<Webhook>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let webhooks = store::list(&mut tx, member.tenant, page.after, page.rows()).await?;
    Ok(Json(page.page(webhooks, |webhook| webhook.id)))
}

/// Creates a webhook: from then on, events of jobs are sent to its URL. The secret is returned once. The webhook is
/// disabled when the rights of its maker end: when the user is removed from the tenant, disabled or becomes a viewer,
/// or the API key is deleted or expires. An owner can take it over, before or after that. An API key needs `jobs:read`
/// as well.
#[utoipa::path(
    post, path = "/v1/webhooks", operation_id = "create_webhook", tag = "webhooks",
    params(IdempotencyKey),
    request_body = NewWebhook,
    responses((status = 201, description = "The new webhook", body = WebhookWithSecret)),
    extensions(("x-problems" = json!([ProblemType::TenantSuspended, ProblemType::TooManyWebhooks])))
)]
async fn create_webhook(
    State(parts): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewWebhook>,
) -> Result<Reply, Problem> {
    member.writer()?;
    check(&parts, Some(&new.url), Some(&new.events))?;
    let (tenant, cipher) = (member.tenant, cipher(&parts)?);
    key.once(parts.db.tenant(tenant).await?, tenant, &new, async |tx| {
        tenants::check_active(tx, tenant).await?;
        store::lock_webhooks_of(tx, tenant).await?;
        if store::count(tx, tenant).await? >= MAX_WEBHOOKS {
            return Err(Problem::new(
                ProblemType::TooManyWebhooks,
                format!("The tenant already has {MAX_WEBHOOKS} webhooks, the maximum."),
            )
            .with("limit", MAX_WEBHOOKS));
        }
        let id = WebhookId::new();
        let (secret, encrypted) = new_secret(cipher, id)?;
        store::insert(tx, tenant, id, &new.url, &new.events, &encrypted, &member.principal).await?;
        let made = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        let reply = WebhookWithSecret::reply(made, StatusCode::CREATED, &secret)?;
        Ok(reply.location(format!("/v1/webhooks/{id}")))
    })
    .await
}

/// Returns a webhook.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", operation_id = "get_webhook", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id")),
    responses((status = 200, description = "The webhook", body = Webhook))
)]
async fn get_webhook(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
) -> Result<(ETag, Json<Webhook>), Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let webhook = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(webhook.generation), Json(webhook)))
}

/// Changes the URL or the types of a webhook, disables it, or enables it again. Whoever changes the URL or enables it
/// becomes its maker.
#[utoipa::path(
    patch, path = "/v1/webhooks/{id}", operation_id = "update_webhook", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id"), IfMatch, IdempotencyKey),
    request_body = WebhookChange,
    responses((status = 200, description = "The changed webhook", body = Webhook))
)]
async fn update_webhook(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<WebhookChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    check(&parts, change.url.as_deref(), change.events.as_deref())?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &change, async |tx| {
        let known = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(known.generation)?;
        let (url, events) = (change.url.as_ref().unwrap_or(&known.url), change.events.as_ref());
        let (events, enabled) = (events.unwrap_or(&known.events), change.enabled.unwrap_or(known.enabled));
        if url != &known.url || enabled && !known.enabled {
            store::take_over(tx, tenant, id, &member.principal).await?;
        }
        if (url, events, enabled) != (&known.url, &known.events, known.enabled) {
            store::update(tx, tenant, id, url, events, enabled).await?;
        }
        if url != &known.url || enabled && !known.enabled {
            deliveries::wake(tx, tenant, id).await?;
        }
        let changed = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        Ok(Reply::json(StatusCode::OK, &changed)?.etag(changed.generation))
    })
    .await
}

/// Deletes a webhook and its deliveries. Pending messages are not sent.
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", operation_id = "delete_webhook", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id"), IdempotencyKey),
    responses((status = 204, description = "Deleted"))
)]
async fn delete_webhook(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        if !store::delete(tx, tenant, id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}

/// Replaces the secret of a webhook. For 24 hours, messages are also signed with the previous one. The new secret is
/// returned once.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/rotate-secret", operation_id = "rotate_webhook_secret", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id"), IdempotencyKey),
    responses((status = 200, description = "The webhook", body = WebhookWithSecret))
)]
async fn rotate_webhook_secret(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let (tenant, cipher) = (member.tenant, cipher(&parts)?);
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        let (secret, encrypted) = new_secret(cipher, id)?;
        if !store::rotate(tx, tenant, id, &encrypted, OVERLAP).await? {
            return Err(Problem::not_found());
        }
        let changed = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        WebhookWithSecret::reply(changed, StatusCode::OK, &secret)
    })
    .await
}

/// Takes over a webhook: the caller, an owner, becomes its maker. A webhook that was disabled because the rights of its
/// maker ended is enabled again.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/take-over", operation_id = "take_over_webhook", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id"), IdempotencyKey),
    responses((status = 200, description = "The webhook", body = Webhook))
)]
async fn take_over_webhook(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.owner()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        if !store::take_over(tx, tenant, id, &member.principal).await? {
            return Err(Problem::not_found());
        }
        let taken = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        Ok(Reply::json(StatusCode::OK, &taken)?.etag(taken.generation))
    })
    .await
}

/// Sends a message of the type `webhook.test` once, also if the webhook is disabled. `deliveries` shows the result.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id"), IdempotencyKey),
    responses((status = 202, description = "The delivery", body = Delivery))
)]
async fn test_webhook(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        let delivery = DeliveryId::new();
        let new = NewDelivery {
            id: delivery,
            webhook: id,
            tenant,
            message: delivery.to_string(),
            kind: TEST,
            body: body(TEST, (parts.clock)(), &json!({ "webhook_id": id })),
        };
        deliveries::insert(tx, &[new]).await?;
        let made = deliveries::find(tx, tenant, delivery).await?.ok_or_else(Problem::not_found)?;
        Reply::json(StatusCode::ACCEPTED, &made)
    })
    .await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeliveryParams {
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only deliveries in this state.
    state: Option<DeliveryState>,
}

/// Lists the deliveries to a webhook, newest first. They are kept for a week after their end.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}/deliveries", operation_id = "list_webhook_deliveries", tag = "webhooks",
    params(("id" = WebhookId, Path, description = "Webhook id"), DeliveryParams),
    responses((status = 200, description = "A page", body = Page<Delivery>))
)]
async fn list_webhook_deliveries(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<WebhookId>,
    Query(params): Query<DeliveryParams>,
) -> Result<Json<Page<Delivery>>, Problem> {
    let page = PageParams { limit: params.limit, cursor: params.cursor }.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let rows = deliveries::list(&mut tx, member.tenant, id, params.state, page.after, page.rows()).await?;
    Ok(Json(page.page(rows, |delivery| delivery.id)))
}
