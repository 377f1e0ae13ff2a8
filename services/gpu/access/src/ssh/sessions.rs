//! `/v1/ssh-sessions`: the record of connections, for owners of the tenant and for administrators. Kept for 90 days.

use api::{Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::{Admin, HasAuth, Member};
use axum::extract::{FromRef, State};
use ids::{InstanceId, SshKeyId, SshSessionId, TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    right::KeyOwner,
    store::{self, SessionFilter, StoredSession},
};

/// Filters and page of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only connections to this instance.
    instance_id: Option<InstanceId>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Filters and page of the administrators' list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PlatformListQuery {
    /// Only connections to instances of this tenant.
    tenant_id: Option<TenantId>,
    /// Only connections to this instance.
    instance_id: Option<InstanceId>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// One connection over SSH to an instance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SshSession)]
struct SshSessionView {
    /// SSH session id.
    id: SshSessionId,
    /// Owner of the instance.
    tenant_id: TenantId,
    /// Instance id.
    instance_id: InstanceId,
    /// The user who opened it.
    user_id: UserId,
    /// The key that opened it. It may have been deleted since.
    key_id: SshKeyId,
    /// Whether the key is the user's or the instance's.
    key_owner: KeyOwner,
    /// Fingerprint of the key.
    fingerprint: String,
    /// Address and port of the client, as this service saw them.
    client_address: String,
    /// When it was opened.
    started_at: Timestamp,
    /// When it ended, or null.
    ended_at: Option<Timestamp>,
    /// Why it ended: `disconnected`, `rights_ended`, `key_deleted`, `instance_not_running`, `tenant_not_active`,
    /// `idle`, `service_stopped`, `service_lost`; null while it is open.
    end_reason: Option<String>,
    /// Number of shells. Counted when the connection ends, as are the following.
    shells: i32,
    /// Number of commands.
    commands: i32,
    /// Number of file transfers (SFTP).
    sftp: i32,
    /// Number of forwarded connections.
    forwards: i32,
}

impl From<StoredSession> for SshSessionView {
    fn from(session: StoredSession) -> Self {
        Self {
            id: session.id,
            tenant_id: session.tenant_id,
            instance_id: session.instance_id,
            user_id: session.user_id,
            key_id: session.key_id,
            key_owner: session.key_owner,
            fingerprint: session.fingerprint,
            client_address: session.client_address,
            started_at: session.started_at.to_jiff(),
            ended_at: session.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
            end_reason: session.end_reason,
            shells: session.shells,
            commands: session.commands,
            sftp: session.sftp,
            forwards: session.forwards,
        }
    }
}

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_ssh_sessions)).routes(routes!(list_platform_ssh_sessions))
}

/// Lists connections over SSH to the tenant's instances, newest first. For owners.
#[utoipa::path(
    get, path = "/v1/ssh-sessions", operation_id = "list_ssh_sessions", tag = "ssh", params(ListQuery),
    responses((status = 200, description = "A page of connections", body = Page<SshSessionView>)),
)]
async fn list_ssh_sessions(
    State(app): State<Parts>,
    member: Member,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<SshSessionView>>, Problem> {
    member.owner()?;
    let request = PageParams { limit: query.limit, cursor: query.cursor }.request()?;
    let filter = SessionFilter { tenant: Some(member.tenant), instance: query.instance_id };
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::sessions(&mut tx, &filter, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |session| session.id).map(SshSessionView::from)))
}

/// Lists connections over SSH to instances of all tenants, newest first. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-ssh-sessions", operation_id = "list_platform_ssh_sessions", tag = "platform",
    params(PlatformListQuery),
    responses((status = 200, description = "A page of connections", body = Page<SshSessionView>)),
)]
async fn list_platform_ssh_sessions(
    State(app): State<Parts>,
    _admin: Admin,
    Query(query): Query<PlatformListQuery>,
) -> Result<Json<Page<SshSessionView>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor }.request()?;
    let filter = SessionFilter { tenant: query.tenant_id, instance: query.instance_id };
    let mut tx = app.db.admin().await?;
    let rows = store::sessions(&mut tx, &filter, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |session| session.id).map(SshSessionView::from)))
}
