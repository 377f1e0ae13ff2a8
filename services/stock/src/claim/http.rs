//! `/internal/v1/claims`, for the gpu service.

use api::{Json, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::InstanceId;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    service::{ClaimService, Granted},
    store::{self, Release},
};
use crate::interruptible;
use stock_api::{Claim, ClaimPatch, ClaimRequest, SpareUnits, Turn, WaitRequest};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    ClaimService: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(create_claim))
        .routes(routes!(get_claim, update_claim, delete_claim))
        .routes(routes!(claim_or_wait))
        .routes(routes!(get_spare_units))
}

/// Claims a unit for an instance, or returns the one that it holds. Idempotent by the instance's id. If no unit is
/// free, it takes the unit of an interruptible claim.
#[utoipa::path(post, path = "/internal/v1/claims", tag = "internal", request_body = ClaimRequest,
    responses((status = 201, description = "Claimed", body = Claim),
              (status = 200, description = "The instance already held this unit", body = Claim)),
    extensions(("x-problems" = json!([ProblemType::StockExhausted, ProblemType::AlreadyClaimed]))),
)]
async fn create_claim(
    State(service): State<ClaimService>,
    caller: Caller,
    Json(request): Json<ClaimRequest>,
) -> Result<(StatusCode, Json<Claim>), Problem> {
    caller.acts_for(request.tenant_id)?;
    let Granted { claim, new } = service.claim(&request).await?;
    Ok((if new { StatusCode::CREATED } else { StatusCode::OK }, Json(claim)))
}

/// Claims a unit for an instance, or enters it into the queue if none is free. Repeatable: an instance that waits keeps
/// its place, and one that has been given a unit gets that unit.
#[utoipa::path(put, path = "/internal/v1/queue/{instance_id}", tag = "internal",
    params(("instance_id" = InstanceId, Path, description = "Instance id")), request_body = WaitRequest,
    responses((status = 200, description = "The claim, or none while the instance waits", body = Turn)),
    extensions(("x-problems" = json!([ProblemType::StockExhausted, ProblemType::AlreadyClaimed]))),
)]
async fn claim_or_wait(
    State(service): State<ClaimService>,
    caller: Caller,
    Path(instance): Path<InstanceId>,
    Json(request): Json<WaitRequest>,
) -> Result<Json<Turn>, Problem> {
    caller.acts_for(request.tenant_id)?;
    let granted = service.claim_or_wait(instance, &request).await?;
    Ok(Json(Turn { claim: granted.map(|granted| granted.claim) }))
}

/// Returns the unit that an instance holds.
#[utoipa::path(get, path = "/internal/v1/claims/{instance_id}", tag = "internal",
    params(("instance_id" = InstanceId, Path, description = "Instance id")),
    responses((status = 200, description = "The claim", body = Claim)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_claim(
    State(db): State<Db>,
    _: Caller,
    Path(instance): Path<InstanceId>,
) -> Result<Json<Claim>, Problem> {
    let mut tx = db.worker().await?;
    Ok(Json(store::find(&mut tx, instance).await?.ok_or_else(Problem::not_found)?))
}

/// Changes the recall rank of an interruptible claim.
#[utoipa::path(patch, path = "/internal/v1/claims/{instance_id}", tag = "internal",
    params(("instance_id" = InstanceId, Path, description = "Instance id")), request_body = ClaimPatch,
    responses((status = 204, description = "Changed")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn update_claim(
    State(db): State<Db>,
    _: Caller,
    Path(instance): Path<InstanceId>,
    Json(patch): Json<ClaimPatch>,
) -> Result<StatusCode, Problem> {
    let mut tx = db.worker().await?;
    if !interruptible::store::set_rank(&mut tx, instance, patch.claimed_at, patch.recall_rank).await? {
        return Err(Problem::not_found());
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which claim is released.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReleaseQuery {
    /// Only a claim with this `claimed_at`, so that a delayed call does not release a later claim. Any claim if absent.
    #[param(value_type = Option<String>, format = DateTime)]
    claimed_at: Option<Timestamp>,
    /// Only the place in the queue of this start or an earlier one. Any place if absent.
    attempt: Option<i64>,
}

/// Releases the unit of an instance and ends its wait in the queue. Repeatable; succeeds if the instance holds none.
#[utoipa::path(delete, path = "/internal/v1/claims/{instance_id}", tag = "internal",
    params(("instance_id" = InstanceId, Path, description = "Instance id"), ReleaseQuery),
    responses((status = 204, description = "Released")))]
async fn delete_claim(
    State(service): State<ClaimService>,
    _: Caller,
    Path(instance): Path<InstanceId>,
    Query(query): Query<ReleaseQuery>,
) -> Result<StatusCode, Problem> {
    service.release(Release { instance, claimed_at: query.claimed_at, attempt: query.attempt }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which specification is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SpareQuery {
    /// Name of the specification.
    gpu_spec: String,
}

/// Returns how many units interruptible claims of a specification would get now, and how many units they should return.
/// Nothing is reserved.
#[utoipa::path(get, path = "/internal/v1/spare-units", tag = "internal", params(SpareQuery),
    responses((status = 200, description = "The numbers", body = SpareUnits)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_spare_units(
    State(service): State<ClaimService>,
    _: Caller,
    Query(query): Query<SpareQuery>,
) -> Result<Json<SpareUnits>, Problem> {
    Ok(Json(service.spare_units(&query.gpu_spec).await?.ok_or_else(Problem::not_found)?))
}
