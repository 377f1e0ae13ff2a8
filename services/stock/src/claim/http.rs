//! `/internal/v1/claims`, for the gpu service.

use api::{Json, Path, Problem, Query};
use auth::Caller;
use axum::{extract::State, http::StatusCode};
use ids::InstanceId;
use jiff::Timestamp;
use serde::Deserialize;
use sqlx::error::ErrorKind;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    desk::Ask,
    model::{Claim, ClaimRequest, Outcome, TransferRequest, holds_another},
    store::{self, Release},
};
use crate::App;
use api::checks::is_dns_subdomain;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create_claim))
        .routes(routes!(get_claim, delete_claim))
        .routes(routes!(transfer_claim))
}

fn interrupted() -> Problem {
    Problem::unavailable("The stock", "a batch of claims came to nothing")
}

/// Claims a unit for an instance, or gives the one it holds. Idempotent by the instance's id.
#[utoipa::path(post, path = "/internal/v1/claims", tag = "internal", request_body = ClaimRequest,
    responses((status = 201, description = "Claimed", body = Claim),
              (status = 200, description = "It held this one already", body = Claim),
              (status = 409, description = "`stock-exhausted`, with `alternatives` and `waiting`; or \
                  `already-claimed`", body = Problem),
              (status = 422, description = "No such specification or datacenter", body = Problem)))]
async fn create_claim(
    State(app): State<App>,
    _: Caller,
    Json(request): Json<ClaimRequest>,
) -> Result<(StatusCode, Json<Claim>), Problem> {
    let node = request.preferred_node.filter(|node| is_dns_subdomain(node));
    let ask = Ask { instance: request.instance_id, tenant: request.tenant_id, node };
    let outcome = app.desk().claim(request.gpu_spec_id, request.datacenter_id, ask).await;
    match outcome.ok_or_else(interrupted)? {
        Outcome::Claimed { claim, .. }
            if claim.gpu_spec_id != request.gpu_spec_id || claim.tenant_id != request.tenant_id =>
        {
            Err(holds_another())
        }
        Outcome::Claimed { claim, fresh } => {
            Ok((if fresh { StatusCode::CREATED } else { StatusCode::OK }, Json(*claim)))
        }
        Outcome::Exhausted(exhausted) => Err(exhausted.problem()),
        Outcome::NoSpec => Err(Problem::invalid_field("/gpu_spec_id", "is not a GPU specification's id")),
        Outcome::NoDatacenter => Err(Problem::invalid_field("/datacenter_id", "is not a datacenter's id")),
        Outcome::Failed(error) => Err(error.into()),
    }
}

/// The unit that an instance holds.
#[utoipa::path(get, path = "/internal/v1/claims/{instance_id}", tag = "internal",
    params(("instance_id" = InstanceId, Path, description = "The instance")),
    responses((status = 200, description = "It", body = Claim),
              (status = 404, description = "It holds none", body = Problem)))]
async fn get_claim(
    State(app): State<App>,
    _: Caller,
    Path(instance): Path<InstanceId>,
) -> Result<Json<Claim>, Problem> {
    let mut tx = app.db().worker().await?;
    store::find(&mut tx, instance).await?.map(Json).ok_or_else(Problem::not_found)
}

/// Which claim is given back.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReleaseQuery {
    /// Its `claimed_at`: what the instance claimed since then it keeps, however late this call arrives. Any
    /// claim when absent.
    #[param(value_type = Option<String>, format = DateTime)]
    claimed_at: Option<Timestamp>,
}

/// Gives the unit of an instance back. Repeatable; also when it holds none.
#[utoipa::path(delete, path = "/internal/v1/claims/{instance_id}", tag = "internal",
    params(("instance_id" = InstanceId, Path, description = "The instance"), ReleaseQuery),
    responses((status = 204, description = "It holds none now")))]
async fn delete_claim(
    State(app): State<App>,
    _: Caller,
    Path(instance): Path<InstanceId>,
    Query(query): Query<ReleaseQuery>,
) -> Result<StatusCode, Problem> {
    let release = Release { instance, claimed_at: query.claimed_at };
    app.desk().release(release).await.ok_or_else(interrupted)??;
    Ok(StatusCode::NO_CONTENT)
}

/// Hands the unit of an instance over to another, as it is. Repeatable.
#[utoipa::path(post, path = "/internal/v1/claims/{instance_id}/transfer", tag = "internal",
    request_body = TransferRequest,
    params(("instance_id" = InstanceId, Path, description = "The instance that holds it")),
    responses((status = 200, description = "The other holds it now", body = Claim),
              (status = 404, description = "It holds none", body = Problem),
              (status = 409, description = "`already-claimed`: the other holds one", body = Problem)))]
async fn transfer_claim(
    State(app): State<App>,
    _: Caller,
    Path(from): Path<InstanceId>,
    Json(request): Json<TransferRequest>,
) -> Result<Json<Claim>, Problem> {
    let mut tx = app.db().worker().await?;
    let given = store::transfer(&mut tx, from, request.to_instance_id, request.to_tenant_id)
        .await
        .map_err(Problem::violated(ErrorKind::UniqueViolation, holds_another))?;
    let claim = store::find(&mut tx, request.to_instance_id).await?.ok_or_else(Problem::not_found)?;
    // an answer may have been lost: then the other has it already, from this one
    if !given && !store::held_before(&mut tx, claim.unit_id, from).await? {
        return Err(Problem::not_found());
    }
    tx.commit().await?;
    Ok(Json(claim))
}
