//! `POST /gpu-instances`, `GET` and `DELETE /gpu-instances/{instanceID}`.

use api::{Json, Path, Problem, ProblemType, openapi::OpenApiRouter};
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use utoipa_axum::routes;

use super::Parts;
use super::model::{InstanceView, NewInstance};
use super::store;
use crate::caller::{HasCallers, ServiceCaller};

pub(crate) fn routes<S: HasCallers>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(start_instance)).routes(routes!(get_instance, stop_instance))
}

/// Starts an instance in an idle unit of the specification.
#[utoipa::path(
    post, path = "/gpu-instances", tag = "gpu-instances", operation_id = "start_gpu_instance",
    request_body = NewInstance,
    responses((status = 202, description = "The instance is starting", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::StockExhausted, ProblemType::InstanceStopping, ProblemType::OperationInProgress,
        ProblemType::InstanceIdReused,
    ]))),
)]
async fn start_instance(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Json(new): Json<NewInstance>,
) -> Result<(StatusCode, Json<InstanceView>), Problem> {
    let unit = store::start(&parts, &new).await?;
    Ok((StatusCode::ACCEPTED, Json(InstanceView::of(&unit, &new.instance_id))))
}

/// Returns the state of an instance.
#[utoipa::path(
    get, path = "/gpu-instances/{instanceID}", tag = "gpu-instances", operation_id = "get_gpu_instance",
    params(("instanceID" = String, Path, description = "Instance id")),
    responses((status = 200, description = "The state of the instance", body = InstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_instance(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Path(id): Path<String>,
) -> Result<Json<InstanceView>, Problem> {
    Ok(Json(InstanceView::of(&store::unit_of(&parts, &id).await?, &id)))
}

/// Stops an instance gracefully. Its unit is idle again when the instance has terminated.
#[utoipa::path(
    delete, path = "/gpu-instances/{instanceID}", tag = "gpu-instances", operation_id = "stop_gpu_instance",
    params(("instanceID" = String, Path, description = "Instance id")),
    responses((status = 202, description = "The instance is terminating", body = InstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::OperationInProgress]))),
)]
async fn stop_instance(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<InstanceView>), Problem> {
    let unit = store::stop(&parts, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(InstanceView::of(&unit, &id))))
}
