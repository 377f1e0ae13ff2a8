//! The exchange of a link, for the gateway.

use api::{Json, Problem, ProblemType};
use auth::{Caller, Refused};
use axum::extract::State;
use clients::gpu::HostLabel;
use ids::{InstanceId, ShareLinkId, TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::store;
use crate::{route::hash, state::AppState};

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
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(open_share_link))
}

/// Opens a link. It can be opened any number of times while it is valid.
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
    // the worker deletes links whose creator has lost the rights; it may not have seen this one yet
    match app.auth.verifier.revocations().check(&link.grant()) {
        Ok(()) => {}
        Err(Refused::Revoked) => return Err(Problem::not_found()),
        Err(unknown @ Refused::Unknown) => return Err(unknown.into()),
    }
    Ok(Json(OpenedLink {
        share_link_id: link.id,
        instance_id: host.instance,
        tenant_id: link.tenant_id,
        created_by: link.created_by,
        rights_at: link.created_at.to_jiff(),
        expires_at: link.expires_at.to_jiff(),
    }))
}
