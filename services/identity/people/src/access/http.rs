//! The rights of a user over HTTP, for the other services.

use api::{Json, Path, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use db::Db;
use identity_api::Rights;
use ids::{TenantId, UserId};
use utoipa_axum::routes;

use super::rights;
use crate::scope;

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_rights))
}

/// Returns the current role of a user in a tenant: the one that an access token issued now would contain. For services
/// that grant access without a token.
#[utoipa::path(
    get, path = "/internal/v1/tenants/{id}/members/{user_id}", operation_id = "get_rights", tag = "internal",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        ("user_id" = UserId, Path, description = "User id"),
    ),
    responses((status = 200, description = "The rights", body = Rights)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_rights(
    State(db): State<Db>,
    _: Caller,
    Path((id, user)): Path<(TenantId, UserId)>,
) -> Result<Json<Rights>, Problem> {
    let mut tx = db.platform().await?;
    scope::user(&mut tx, user).await?;
    let (role, as_of) = rights::in_tenant(&mut tx, id, user).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(Rights { role, as_of }))
}
