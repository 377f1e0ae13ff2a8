//! The exchange of a link, for the gateway.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{Caller, OnBehalf, Refused, SubjectToken};
use axum::extract::State;
use clients::gpu::HostLabel;
use ids::{InstanceId, SessionId, ShareLinkId, TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{personal_store, store};
use crate::{
    route::{Secret, TICKET_LIFETIME, hash},
    state::AppState,
};

/// A link to open.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OpenLinkRequest {
    /// Secret from the link.
    secret: String,
    /// First label of the host name, `inst-…` or `p8188-inst-…`. The link must be for this instance and port.
    host_label: String,
}

/// What a link opens.
#[derive(Debug, Serialize, ToSchema)]
struct OpenedLink {
    /// Share link id.
    share_link_id: ShareLinkId,
    /// Instance id.
    instance_id: InstanceId,
    /// Id of the instance's tenant.
    tenant_id: TenantId,
    /// Id of the user who created the link.
    created_by: UserId,
    /// When the link was created: revocations of this user's rights after it end the link.
    rights_at: Timestamp,
    /// End of the link.
    expires_at: Timestamp,
    /// The person who has opened it; null if it is for everyone who has it.
    person: Option<LinkPerson>,
}

/// The rights of the person for whom a link is. What is opened with it ends with them.
#[derive(Debug, Serialize, ToSchema)]
struct LinkPerson {
    /// User id.
    user_id: UserId,
    /// The session in which the link was opened.
    session_id: Option<SessionId>,
    /// Issue time of the access token with which it was opened.
    rights_at: Timestamp,
}

/// A ticket to redeem.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RedeemLinkRequest {
    /// Secret from the ticket's URL.
    ticket: String,
    /// First label of the host name. The link must be for this instance and port.
    host_label: String,
}

/// A one-time ticket that opens a link to a person.
#[derive(Debug, Serialize, ToSchema)]
struct ShareLinkTicket {
    /// URL at the instance's host, valid for a minute.
    url: String,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(open_share_link))
        .routes(routes!(create_share_link_ticket))
        .routes(routes!(redeem_share_link_ticket))
}

impl OpenedLink {
    /// Describes a link whose creator has the rights with which it was created.
    fn new(app: &AppState, host: HostLabel, link: &store::OpenedLink) -> Result<Self, Problem> {
        check_creator(app, link)?;
        Ok(Self {
            share_link_id: link.id,
            instance_id: host.instance,
            tenant_id: link.tenant_id,
            created_by: link.created_by,
            rights_at: link.created_at.to_jiff(),
            expires_at: link.expires_at.to_jiff(),
            person: None,
        })
    }
}

/// The worker deletes links whose creators have lost their rights; it may not have seen this one yet.
fn check_creator(app: &AppState, link: &store::OpenedLink) -> Result<(), Problem> {
    match app.auth.verifier.revocations().check(&link.grant()) {
        Ok(()) => Ok(()),
        Err(Refused::Revoked) => Err(Problem::not_found()),
        Err(unknown @ Refused::Unknown) => Err(unknown.into()),
    }
}

/// Opens a link for everyone who has it. It can be opened any number of times while it is valid.
#[utoipa::path(
    post, path = "/internal/v1/share-links/open", operation_id = "open_share_link", tag = "internal",
    request_body = OpenLinkRequest,
    responses((status = 200, description = "What it opens", body = OpenedLink)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn open_share_link(
    State(app): State<AppState>,
    _: Caller,
    Json(request): Json<OpenLinkRequest>,
) -> Result<Json<OpenedLink>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let link = store::open(&mut tx, &hash(&request.secret), host).await?.ok_or_else(Problem::not_found)?;
    tx.commit().await?;
    OpenedLink::new(&app, host, &link).map(Json)
}

/// Recognizes the user as the person for whom a link is, and returns a ticket with which this user opens it. A link for
/// another person, or for everyone, is not found.
#[utoipa::path(
    post, path = "/internal/v1/share-links/tickets", operation_id = "create_share_link_ticket", tag = "internal",
    request_body = OpenLinkRequest,
    responses((status = 200, description = "The ticket", body = ShareLinkTicket)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn create_share_link_ticket(
    State(app): State<AppState>,
    OnBehalf(user): OnBehalf,
    SubjectToken(subject): SubjectToken,
    Json(request): Json<OpenLinkRequest>,
) -> Result<Json<ShareLinkTicket>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let found = personal_store::find(&mut tx, &store::personal_hash(&request.secret), host).await?;
    drop(tx);
    let (link, recipient) = found.ok_or_else(Problem::not_found)?;
    check_creator(&app, &link)?;
    if !recipient.is(&subject, app.identity.as_ref()).await? {
        return Err(Problem::not_found());
    }
    let secret = Secret::generate()?;
    let expires_at = (app.clock)() + TICKET_LIFETIME;
    let mut tx = app.db.worker().await?;
    personal_store::insert_ticket(&mut tx, &hash(secret.as_str()), link.id, &user.grant(), expires_at)
        .await?;
    tx.commit().await?;
    let base = app.config.apps.url(host.instance, host.port);
    Ok(Json(ShareLinkTicket { url: format!("{base}.atelier/share?ticket={}", secret.as_str()) }))
}

/// Opens a link with a ticket. A ticket can be redeemed once.
#[utoipa::path(
    post, path = "/internal/v1/share-links/redeem", operation_id = "redeem_share_link_ticket", tag = "internal",
    request_body = RedeemLinkRequest,
    responses((status = 200, description = "What it opens, and to whom", body = OpenedLink)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn redeem_share_link_ticket(
    State(app): State<AppState>,
    _: Caller,
    Json(request): Json<RedeemLinkRequest>,
) -> Result<Json<OpenedLink>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let redeemed = personal_store::redeem(&mut tx, &hash(&request.ticket), host).await?;
    tx.commit().await?;
    let (link, person) = redeemed.ok_or_else(Problem::not_found)?;
    let opened = OpenedLink::new(&app, host, &link)?;
    let person = LinkPerson { user_id: person.user, session_id: person.session, rights_at: person.rights_at };
    Ok(Json(OpenedLink { person: Some(person), ..opened }))
}
