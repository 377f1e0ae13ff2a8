//! The exchange of a link, for the gateway.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, OnBehalf, Refused, SubjectToken};
use axum::extract::{FromRef, State};
use gpu_api::{HostLabel, LinkPerson, OpenLinkRequest, OpenedLink, RedeemRequest, ShareLinkTicket};
use instances::ticket::{Secret, TICKET_LIFETIME, hash};
use utoipa_axum::routes;

use super::{Parts, personal_store, store};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(open_share_link))
        .routes(routes!(create_share_link_ticket))
        .routes(routes!(redeem_share_link_ticket))
}

/// Describes a link, if its creator has the rights with which it was created.
fn opened(app: &Parts, host: HostLabel, link: &store::OpenedLink) -> Result<OpenedLink, Problem> {
    check_creator(app, link)?;
    Ok(OpenedLink {
        share_link_id: link.id,
        instance_id: host.instance,
        tenant_id: link.tenant_id,
        created_by: link.created_by,
        rights_at: link.created_at.to_jiff(),
        expires_at: link.expires_at.to_jiff(),
        person: None,
    })
}

/// The worker that deletes links of creators without rights may not have seen this one yet.
fn check_creator(app: &Parts, link: &store::OpenedLink) -> Result<(), Problem> {
    match app.verifier.revocations().check(&link.grant()) {
        Ok(()) => Ok(()),
        Err(Refused::Revoked) => Err(Problem::not_found()),
        Err(unknown @ Refused::Unknown) => Err(unknown.into()),
    }
}

/// Opens a link for everyone who has it. It can be opened any number of times while it is valid.
#[utoipa::path(
    post, path = "/internal/v1/share-links/open", operation_id = "open_share_link", tag = "internal",
    request_body = OpenLinkRequest,
    responses((status = 200, description = "The opened link", body = OpenedLink)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn open_share_link(
    State(app): State<Parts>,
    _: Caller,
    Json(request): Json<OpenLinkRequest>,
) -> Result<Json<OpenedLink>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let link = store::open(&mut tx, &hash(&request.secret), host).await?.ok_or_else(Problem::not_found)?;
    tx.commit().await?;
    opened(&app, host, &link).map(Json)
}

/// Returns a ticket with which the user opens a link, if the link is for this person. A link for another person, or for
/// everyone, is not found.
#[utoipa::path(
    post, path = "/internal/v1/share-links/tickets", operation_id = "create_share_link_ticket", tag = "internal",
    request_body = OpenLinkRequest,
    responses((status = 200, description = "The ticket", body = ShareLinkTicket)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn create_share_link_ticket(
    State(app): State<Parts>,
    OnBehalf(user): OnBehalf,
    SubjectToken(subject): SubjectToken,
    Json(request): Json<OpenLinkRequest>,
) -> Result<Json<ShareLinkTicket>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let found = personal_store::find(&mut tx, &hash(&request.secret), host).await?;
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
    let base = app.apps.url(host.instance, host.port);
    Ok(Json(ShareLinkTicket { url: format!("{base}.atelier/share?ticket={}", secret.as_str()) }))
}

/// Opens a link with a ticket. A ticket can be redeemed once.
#[utoipa::path(
    post, path = "/internal/v1/share-links/redeem", operation_id = "redeem_share_link_ticket", tag = "internal",
    request_body = RedeemRequest,
    responses((status = 200, description = "The opened link, with its person", body = OpenedLink)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn redeem_share_link_ticket(
    State(app): State<Parts>,
    _: Caller,
    Json(request): Json<RedeemRequest>,
) -> Result<Json<OpenedLink>, Problem> {
    let host = HostLabel::parse(&request.host_label).ok_or_else(Problem::not_found)?;
    let mut tx = app.db.worker().await?;
    let redeemed = personal_store::redeem(&mut tx, &hash(&request.ticket), host).await?;
    tx.commit().await?;
    let (link, person) = redeemed.ok_or_else(Problem::not_found)?;
    let opened = opened(&app, host, &link)?;
    let person = LinkPerson { user_id: person.user, session_id: person.session, rights_at: person.rights_at };
    Ok(Json(OpenedLink { person: Some(person), ..opened }))
}
