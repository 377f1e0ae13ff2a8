//! `/v1/instances/{id}/tickets`, and the gateway's internal operations.

use api::{IdempotencyKey, Json, Path, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, Member};
use axum::extract::{FromRef, State};
use gpu_api::{HostLabel, QueuePlace, RedeemRequest, Redeemed};
use gpu_core::{instance::InstanceState, reason::ReasonCode};
use http::StatusCode;
use ids::{InstanceId, ShareLinkId, TenantId};
use instances::{
    instance,
    ticket::{Secret, TICKET_LIFETIME, hash},
};
use jiff::Timestamp;
use orders::order;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Parts, changes,
    model::address,
    store::{self, NewTicket},
};
use crate::share;

/// A one-time ticket that opens an instance in a browser.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ticket {
    /// URL to open in the browser: it signs in at the instance's host and redirects to its page. Null when the
    /// request is repeated.
    url: Option<String>,
    /// Time until which the ticket can be redeemed.
    expires_at: Timestamp,
}

/// Where the traffic of an instance goes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Route {
    /// Instance id.
    instance_id: InstanceId,
    /// Id of the instance's tenant.
    tenant_id: TenantId,
    /// `ip:port` of the public port; null unless the instance is running.
    address: Option<String>,
    /// State of the instance.
    state: InstanceState,
    /// Whether it waits in the queue for a free unit.
    is_queued: bool,
    /// Whether only those who have opened the host name may use it.
    sign_in: bool,
    /// The valid share links of the host name.
    share_links: Vec<ShareLinkId>,
    /// Its place in the queue; null if it does not wait, or its place is not known.
    queue: Option<QueuePlace>,
}

/// Options of a ticket.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTicketOptions {
    /// One of the `public_ports`; the port of the service if absent.
    #[serde(default)]
    port: Option<u16>,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(create_instance_ticket))
        .routes(routes!(get_route))
        .routes(routes!(redeem_ticket))
        .merge(changes::routes())
}

/// Creates a one-time ticket to the URL of the instance or of one of its ports. It is valid for a minute.
#[utoipa::path(
    post, path = "/v1/instances/{id}/tickets", operation_id = "create_instance_ticket", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    request_body = Option<NewTicketOptions>,
    responses((status = 201, description = "The ticket", body = Ticket)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::InvalidField]))),
)]
async fn create_instance_ticket(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    options: Option<Json<NewTicketOptions>>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let options = options.map(|Json(options)| options);
    let port = options.as_ref().and_then(|options| options.port);
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &options, async |tx| {
        let found = instance::store::find(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        if port.is_some_and(|port| found.public_port(port).is_none()) {
            let detail = "is not one of the instance's `public_ports`; add it while the instance is stopped";
            return Err(Problem::invalid_field("/port", detail));
        }
        let secret = Secret::generate()?;
        let ticket = NewTicket {
            hash: hash(secret.as_str()),
            tenant: member.tenant,
            instance: id,
            port,
            grant: member.principal.grant(),
            expires_at: (app.clock)() + TICKET_LIFETIME,
        };
        store::insert_ticket(tx, &ticket).await?;
        let url = format!("{}.atelier/session?ticket={}", app.apps.url(id, port), secret.as_str());
        let reply = Reply::json(StatusCode::CREATED, &Ticket { url: None, expires_at: ticket.expires_at })?;
        Ok(reply.once_only(json!({ "url": url })))
    })
    .await
}

/// Returns the route of the traffic for a host label.
#[utoipa::path(
    get, path = "/internal/v1/routes/{host_label}", operation_id = "get_route", tag = "internal",
    params(("host_label" = String, Path, description = "First label of the host name, `inst-…` or `p8188-inst-…`")),
    responses((status = 200, description = "The route", body = Route)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_route(
    State(app): State<Parts>,
    _: Caller,
    Path(host_label): Path<String>,
) -> Result<Json<Route>, Problem> {
    let host = HostLabel::parse(&host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let found = store::find(&mut tx, host.instance).await?.ok_or_else(Problem::not_found)?;
    let sign_in = match host.port {
        None => true,
        Some(port) => {
            let public = found.public_ports.iter().find(|public| public.port == port);
            // tickets end with the rights of their users; a port without sign-in is closed while the tenant is not active
            let public = public.filter(|public| public.sign_in || found.is_active);
            public.ok_or_else(Problem::not_found)?.sign_in
        }
    };
    let share_links = share::store::valid(&mut tx, host).await?;
    drop(tx);
    let is_queued = found.state.reason().is_some_and(|reason| reason.code == ReasonCode::Queued);
    let entry = if is_queued { order::queue::place(&app.stock, host.instance).await } else { None };
    Ok(Json(Route {
        instance_id: host.instance,
        tenant_id: found.tenant,
        address: address(&found.state, &found.order.template, host.port),
        state: (&found.state).into(),
        is_queued,
        sign_in,
        share_links,
        queue: entry.map(|entry| QueuePlace {
            position: entry.position,
            length: entry.length,
            starts_at: entry.estimate.map(|estimate| estimate.starts_at),
        }),
    }))
}

/// Redeems a ticket. It can be redeemed once.
#[utoipa::path(
    post, path = "/internal/v1/tickets/redeem", operation_id = "redeem_ticket", tag = "internal",
    request_body = RedeemRequest,
    responses((status = 200, description = "Tenant and user of the ticket", body = Redeemed)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn redeem_ticket(
    State(app): State<Parts>,
    _: Caller,
    Json(request): Json<RedeemRequest>,
) -> Result<Json<Redeemed>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let redeemed = store::redeem_ticket(&mut tx, &hash(&request.ticket), host).await?;
    tx.commit().await?;
    let redeemed = redeemed.ok_or_else(Problem::not_found)?;
    Ok(Json(Redeemed {
        instance_id: host.instance,
        tenant_id: redeemed.tenant_id,
        user_id: redeemed.user_id,
        session_id: redeemed.session_id,
        rights_at: redeemed.rights_at.to_jiff(),
    }))
}
