//! `/v1/platform-isolation`: what the units report, for administrators.

use api::{Json, Problem, openapi::OpenApiRouter};
use auth::{Admin, HasAuth};
use axum::extract::{FromRef, State};
use clusters::Clusters;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::model::{DatacenterIsolation, summary};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Clusters: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_platform_isolation))
}

/// Whether code of tenants runs, by datacenter.
#[derive(Debug, Serialize, ToSchema)]
struct PlatformIsolation {
    /// Datacenters with units, by name.
    datacenters: Vec<DatacenterIsolation>,
}

/// Returns for each datacenter whether it runs code of tenants (their own images, and their programs in images of the
/// catalogue), and what its units report. The policy is the setting `tenant_code` of each cluster's operator. For
/// administrators.
#[utoipa::path(
    get, path = "/v1/platform-isolation", operation_id = "get_platform_isolation", tag = "platform",
    responses((status = 200, description = "By datacenter", body = PlatformIsolation)),
)]
async fn get_platform_isolation(
    State(clusters): State<Clusters>,
    _: Admin,
) -> Result<Json<PlatformIsolation>, Problem> {
    Ok(Json(PlatformIsolation { datacenters: summary(&clusters.units()) }))
}
