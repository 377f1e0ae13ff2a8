//! `/v1/instances/{id}/share-links`.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use http::StatusCode;
use ids::{ApiKeyId, InstanceId, ShareLinkId, UserId};
use instances::{
    instance,
    ticket::{Secret, hash},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Parts, model,
    recipient::Recipient,
    store::{self, NewLink, StoredLink},
};

/// Maximum number of valid links of an instance.
const MAX_LINKS: i64 = 20;

/// A link to create.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewShareLink {
    /// What it is for, 1 to 100 characters.
    #[serde(deserialize_with = "api::text::nfc")]
    name: String,
    /// One of the `public_ports`; the port of the service if absent.
    #[serde(default)]
    port: Option<u16>,
    /// The only person who may open it, after sign-in; everyone who has the link if absent.
    #[serde(default)]
    recipient: Option<Recipient>,
    /// End of the link, at most 30 days from now.
    expires_at: Timestamp,
}

/// A link that opens one port of an instance to everyone who has it, or to one person.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShareLink)]
struct ShareLinkView {
    /// Share link id.
    id: ShareLinkId,
    /// What it is for.
    name: String,
    /// The public port; null for the port of the service.
    port: Option<u16>,
    /// The link. Null except in the response to its creation, and when that request is repeated.
    url: Option<String>,
    /// The only person who may open it; null for everyone who has it.
    recipient: Option<Recipient>,
    /// Id of the user who created it. It ends with this user's rights.
    created_by: UserId,
    /// The API key with which it was created and with which it ends, or null.
    created_by_key: Option<ApiKeyId>,
    /// When it was created.
    created_at: Timestamp,
    /// End of the link.
    expires_at: Timestamp,
    /// When it was last opened, or null.
    last_used_at: Option<Timestamp>,
}

impl From<StoredLink> for ShareLinkView {
    fn from(link: StoredLink) -> Self {
        Self {
            id: link.id,
            name: link.name,
            port: link.port.and_then(|port| port.try_into().ok()),
            url: None,
            recipient: link.recipient_email.map(|email| Recipient { email }),
            created_by: link.created_by,
            created_by_key: link.created_by_key,
            created_at: link.created_at.to_jiff(),
            expires_at: link.expires_at.to_jiff(),
            last_used_at: link.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_share_links, create_share_link))
        .routes(routes!(delete_share_link))
}

/// Lists the valid share links of an instance, newest first.
#[utoipa::path(
    get, path = "/v1/instances/{id}/share-links", operation_id = "list_share_links", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), PageParams),
    responses((status = 200, description = "A page of links", body = Page<ShareLinkView>)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn list_share_links(
    State(app): State<Parts>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<ShareLinkView>>, Problem> {
    let request = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    instance::store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, id, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |link| link.id).map(ShareLinkView::from)))
}

/// Creates a link that opens the instance, or one of its public ports, to everyone who has it, or to one person who
/// signs in. It ends when it expires, when it is deleted, and with the rights of its maker: the user, or the API key
/// with which it is created. The link is returned once.
#[utoipa::path(
    post, path = "/v1/instances/{id}/share-links", operation_id = "create_share_link", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    request_body = NewShareLink,
    responses((status = 201, description = "The link", body = ShareLinkView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InvalidField, ProblemType::TooManyShareLinks
    ]))),
)]
async fn create_share_link(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    Json(new): Json<NewShareLink>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let (tenant, now) = (member.tenant, (app.clock)());
    model::check(&new.name, new.recipient.as_ref(), new.expires_at, now)?;
    if new.recipient.is_some() && app.identity.is_none() {
        let detail = "is not supported by this platform: its gpu service does not know the identity service";
        return Err(Problem::invalid_field("/recipient", detail));
    }
    key.once(app.db.tenant(tenant).await?, tenant, &new, async |tx| {
        let found = instance::store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        if new.port.is_some_and(|port| found.public_port(port).is_none()) {
            let detail = "is not one of the instance's `public_ports`; add it while the instance is stopped";
            return Err(Problem::invalid_field("/port", detail));
        }
        if store::count_locked(tx, id).await? >= MAX_LINKS {
            return Err(Problem::new(
                ProblemType::TooManyShareLinks,
                format!("The instance already has {MAX_LINKS} share links."),
            )
            .with("limit", MAX_LINKS));
        }
        let secret = Secret::generate()?;
        let link = NewLink {
            tenant,
            instance: id,
            port: new.port,
            name: &new.name,
            hash: hash(secret.as_str()),
            recipient: new.recipient.as_ref(),
            created_by: &member.principal,
            created_at: now,
            expires_at: new.expires_at,
        };
        let view = ShareLinkView::from(store::insert(tx, &link).await?);
        let url = format!("{}.atelier/share?link={}", app.apps.url(id, new.port), secret.as_str());
        Ok(Reply::json(StatusCode::CREATED, &view)?.once_only(json!({ "url": url })))
    })
    .await
}

/// Deletes a share link. Connections that were opened with it are closed.
#[utoipa::path(
    delete, path = "/v1/instances/{id}/share-links/{link_id}", operation_id = "delete_share_link", tag = "instances",
    params(
        ("id" = InstanceId, Path, description = "Instance id"),
        ("link_id" = ShareLinkId, Path, description = "Share link id"),
        IdempotencyKey
    ),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_share_link(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path((id, link_id)): Path<(InstanceId, ShareLinkId)>,
) -> Result<Reply, Problem> {
    member.writer()?;
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &(), async |tx| {
        instance::store::find(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        if !store::delete(tx, id, link_id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}
