//! The tenant for which a session acts, over HTTP. A change needs no `Idempotency-Key`: it can be repeated.

use api::{Json, Problem, ProblemType, audit, openapi::OpenApiRouter};
use auth::{HasAuth, Person, Role};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::TenantId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::store;
use crate::{access, authority, scope, tenant::TenantRef};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(update_session))
}

/// A change of the session.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SessionChange {
    /// The tenant to act for from now on: an active one of which the user is a member.
    tenant_id: TenantId,
}

/// The tenant that a session acts for.
#[derive(Debug, Serialize, ToSchema)]
struct SessionTenant {
    /// The tenant.
    tenant: TenantRef,
    /// The user's role in it.
    role: Role,
}

/// Switches the session of the request to another tenant.
///
/// Access tokens of the session for another tenant are revoked. With a cookie, the next request acts for the new
/// tenant. A client with a refresh token can name the tenant when it refreshes instead. Streams, terminals and
/// instances that the session opened are closed.
#[utoipa::path(
    patch, path = "/v1/sessions/current", operation_id = "update_session", tag = "sessions",
    request_body = SessionChange,
    responses((status = 200, description = "The tenant and the role in it", body = SessionTenant)),
    extensions(("x-problems" = json!([
        ProblemType::PersonRequired, ProblemType::NotAMember, ProblemType::TenantSuspended
    ]))),
)]
async fn update_session(
    State(db): State<Db>,
    Person { principal, session }: Person,
    request: audit::Request,
    Json(change): Json<SessionChange>,
) -> Result<Json<SessionTenant>, Problem> {
    let mut tx = db.user(principal.user).await?;
    authority::signed_in(&mut tx, &principal).await?;
    let membership = access::membership(&mut tx, principal.user, Some(change.tenant_id)).await??;
    let membership = membership.ok_or(access::NoAccess::NotAMember)?;
    store::act_for(&mut tx, session, change.tenant_id).await?;
    scope::tenant(&mut tx, change.tenant_id).await?;
    request.record(&mut tx, StatusCode::OK, None, &change).await?;
    tx.commit().await?;
    Ok(Json(SessionTenant { tenant: membership.tenant, role: membership.role }))
}
