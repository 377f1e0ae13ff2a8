//! `/v1/instances/{id}/tickets`, and the gateway's internal operations.

use api::{IdempotencyKey, Json, Path, Problem, Reply};
use auth::{Caller, Member};
use aws_lc_rs::{digest, rand};
use axum::extract::State;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use ids::{InstanceId, TenantId, UserId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::store;
use crate::{app::AppState, instance};

/// How long a ticket is good for.
const LIFE: SignedDuration = SignedDuration::from_secs(60);

/// A way into an instance for its user's browser, once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ticket {
    /// Open this in the browser: it signs in at the instance's host and leads to its page. Not shown again
    /// when the request is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Until when it works.
    expires_at: Timestamp,
}

/// Where the traffic of an instance goes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Route {
    /// The instance.
    instance_id: InstanceId,
    /// Whose it is.
    tenant_id: TenantId,
    /// `ip:port` of its public port; null unless it runs.
    address: Option<String>,
    /// Its state.
    state: String,
}

/// Redeems a ticket.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedeemRequest {
    /// As the user's browser brought it.
    ticket: String,
    /// The host name's first label, which the ticket must be for.
    host_label: String,
}

/// For whom a ticket was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Redeemed {
    /// The instance it opens.
    instance_id: InstanceId,
    /// Whose that is.
    tenant_id: TenantId,
    /// The user who asked for it.
    user_id: UserId,
}

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_instance_ticket))
        .routes(routes!(get_route))
        .routes(routes!(redeem_ticket))
}

fn hash(ticket: &str) -> Vec<u8> {
    digest::digest(&digest::SHA256, ticket.as_bytes()).as_ref().to_vec()
}

/// Makes a one-time ticket to the instance's URL, good for a minute.
#[utoipa::path(post, path = "/v1/instances/{id}/tickets", tag = "instances",
    operation_id = "create_instance_ticket",
    params(("id" = InstanceId, Path), ("Idempotency-Key" = String, Header, description = "One for each write")),
    responses((status = 201, description = "The ticket", body = Ticket),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn create_instance_ticket(
    State(app): State<AppState>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    member.writer()?;
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &(), async |tx| {
        instance::store::find(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        let mut secret = [0u8; 32];
        rand::fill(&mut secret).map_err(|_| Problem::internal("no randomness"))?;
        let ticket = URL_SAFE_NO_PAD.encode(secret);
        let expires_at = Timestamp::now() + LIFE;
        store::insert_ticket(tx, &hash(&ticket), member.tenant, id, member.principal.user, expires_at)
            .await?;
        let url = format!("{}.atelier/session?ticket={ticket}", app.config.apps.url(id));
        let reply = Reply::json(StatusCode::CREATED, &Ticket { url: None, expires_at })?;
        Ok(reply.once_only(json!({ "url": url })))
    })
    .await
}

/// Where the traffic for a host label goes. For the gateway.
#[utoipa::path(get, path = "/internal/v1/routes/{host_label}", tag = "internal", operation_id = "get_route",
    params(("host_label" = String, Path, description = "`inst-…`")),
    responses((status = 200, description = "The route", body = Route),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn get_route(
    State(app): State<AppState>,
    _: Caller,
    Path(host_label): Path<String>,
) -> Result<Json<Route>, Problem> {
    let id = InstanceId::from_k8s_name(&host_label).map_err(|_| Problem::not_found())?;
    let mut tx = app.db.worker().await?;
    let found = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let address = match (&found.state, found.order.template.public_port()) {
        (instance::State::Running { pod, .. }, Some(port)) if pod.ip.contains(':') => {
            Some(format!("[{}]:{}", pod.ip, port.port))
        }
        (instance::State::Running { pod, .. }, Some(port)) => Some(format!("{}:{}", pod.ip, port.port)),
        _ => None,
    };
    let state = found.state.name().to_owned();
    Ok(Json(Route { instance_id: id, tenant_id: found.tenant, address, state }))
}

/// Redeems a ticket; it works once. For the gateway.
#[utoipa::path(post, path = "/internal/v1/tickets/redeem", tag = "internal", operation_id = "redeem_ticket",
    request_body = RedeemRequest,
    responses((status = 200, description = "For whom it was made", body = Redeemed),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn redeem_ticket(
    State(app): State<AppState>,
    _: Caller,
    Json(request): Json<RedeemRequest>,
) -> Result<Json<Redeemed>, Problem> {
    let id = InstanceId::from_k8s_name(&request.host_label).map_err(|_| Problem::not_found())?;
    let mut tx = app.db.worker().await?;
    let found = store::redeem_ticket(&mut tx, &hash(&request.ticket), id).await?;
    tx.commit().await?;
    let (tenant_id, user_id) = found.ok_or_else(Problem::not_found)?;
    Ok(Json(Redeemed { instance_id: id, tenant_id, user_id }))
}
