//! `GET /v1/platform/health`: how each module of the platform is, for administrators. The gateway answers it itself: it asks
//! all replicas for their reports at once, each within [`DEADLINE`], and merges them. One that does not answer is
//! `unreachable`; the answer never waits longer for it. Answers of the last second are reused.

mod collect;
mod model;

use std::time::Duration;

use api::{Json, Problem, openapi::OpenApiRouter};
use auth::Admin;
use axum::{Router, extract::State};
use moka::future::Cache;
use service::{Front, Health, health::DependencyKind};
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::routes;

use crate::{modules::Modules, state::AppState};
use collect::Collector;
use model::PlatformHealth;

/// Where it is.
pub(crate) const PATH: &str = "/v1/platform/health";
/// Time for a replica to answer, with the resolution of its name. Longer than its own checks may take.
const DEADLINE: Duration = Duration::from_millis(1500);
/// How long an answer is reused, however many ask.
const REUSE: Duration = Duration::from_secs(1);

/// What the handler uses.
#[derive(Clone)]
struct Shared {
    app: AppState,
    collector: Collector,
    merged: Cache<(), PlatformHealth>,
}

impl auth::HasAuth for Shared {
    fn auth(&self) -> &auth::AuthState {
        self.app.auth()
    }
}

/// The route, without the access that the gateway checks for every operation.
pub(crate) fn router(app: &AppState, front: Front, modules: Modules) -> Router {
    let collector = Collector { modules, own: front, own_address: app.config.metrics_listen };
    let merged = Cache::builder().max_capacity(1).time_to_live(REUSE).build();
    routes_of().split_for_parts().0.with_state(Shared { app: app.clone(), collector, merged })
}

/// The route without its state, for the document.
pub(crate) fn documented() -> OpenApi {
    routes_of().into_openapi()
}

fn routes_of() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Tags::openapi()).routes(routes!(get_platform_health))
}

#[derive(utoipa::OpenApi)]
#[openapi(tags((name = "platform health", description = "How the modules of the platform are")))]
struct Tags;

/// Adds what the gateway calls to the dependencies of its process.
pub(crate) fn report_to(health: &Health, app: &AppState, http: &reqwest::Client) {
    for (name, url) in app.config.services.all() {
        health.depends_on_service(name, http, url.as_str());
    }
    if app.config.limits.shared.is_some() {
        let app = app.clone();
        health.depends_on("valkey", DependencyKind::Cache, move || {
            let app = app.clone();
            async move { app.rate_limits.ping().await }
        });
    }
}

/// How each module of the platform is
///
/// All replicas of all modules, with their dependencies, workers and queues. A replica that does not answer within 1.5 s is
/// `unreachable`. Operators and clusters that the gateway does not reach are seen as dependencies of the services.
#[utoipa::path(
    get, path = "/v1/platform/health", tag = "platform health",
    responses((status = 200, description = "The health of the platform, whatever it is", body = PlatformHealth)),
)]
async fn get_platform_health(
    State(shared): State<Shared>,
    _admin: Admin,
) -> Result<Json<PlatformHealth>, Problem> {
    let merged = shared.merged.get_with((), shared.collector.collect(DEADLINE)).await;
    Ok(Json(merged))
}
