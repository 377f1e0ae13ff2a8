//! `GET /v1/platform/health`: the health of each module, for administrators. The gateway answers it itself:
//! it requests the reports of all replicas at once, each within [`DEADLINE`], and merges them. A replica that
//! does not answer is `unreachable`. Responses of the last second are reused.

mod collect;
mod model;

use std::{net::SocketAddr, time::Duration};

use api::{Json, Problem, openapi::OpenApiRouter};
use auth::{Admin, AuthState, HasAuth};
use axum::{Router, extract::State};
use moka::future::Cache;
use service::Front;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::routes;

use crate::modules::Modules;
use collect::Collector;
use model::PlatformHealth;

/// Path of the operation.
pub(crate) const PATH: &str = "/v1/platform/health";
/// Time for a replica to answer, with the resolution of its name. Longer than its own checks may take.
const DEADLINE: Duration = Duration::from_millis(1500);
/// How long a response is reused.
const REUSE: Duration = Duration::from_secs(1);

/// What the handler uses.
#[derive(Clone)]
struct Shared {
    auth: AuthState,
    collector: Collector,
    merged: Cache<(), PlatformHealth>,
}

impl HasAuth for Shared {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// The route, without the access that the gateway checks for every operation.
pub(crate) fn router(auth: AuthState, own_address: SocketAddr, front: Front, modules: Modules) -> Router {
    let collector = Collector { modules, own: front, own_address };
    let merged = Cache::builder().max_capacity(1).time_to_live(REUSE).build();
    routes_of().split_for_parts().0.with_state(Shared { auth, collector, merged })
}

/// The route without its state, for the document.
pub(crate) fn documented() -> OpenApi {
    routes_of().into_openapi()
}

fn routes_of() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Tags::openapi()).routes(routes!(get_platform_health))
}

#[derive(utoipa::OpenApi)]
#[openapi(tags((name = "platform health", description = "Health of the platform's modules")))]
struct Tags;

/// Returns the health of each module of the platform
///
/// All replicas of all modules, with their dependencies, workers and queues. A replica that does not answer within 1.5
/// s is `unreachable`. Operators and clusters that the gateway cannot reach appear as dependencies of the services.
#[utoipa::path(
    get, path = "/v1/platform/health", tag = "platform health",
    responses((status = 200, description = "The health of the platform, also if it is unavailable", body = PlatformHealth)),
)]
async fn get_platform_health(
    State(shared): State<Shared>,
    _admin: Admin,
) -> Result<Json<PlatformHealth>, Problem> {
    let merged = shared.merged.get_with((), shared.collector.collect(DEADLINE)).await;
    Ok(Json(merged))
}
