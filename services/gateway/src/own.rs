//! The operations that the gateway answers itself.

use api::openapi::Info;
use axum::Router;
use service::Front;
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use crate::{live, modules::Modules, platform_health, platform_logs, state::AppState};

/// Their paths.
pub(crate) const PATHS: [&str; 3] = [live::PATH, platform_health::PATH, platform_logs::PATH];

/// Their routes, without the access that the gateway checks for every operation. Streams end with `stop`.
pub(crate) fn router(app: &AppState, front: Front, http: reqwest::Client, stop: CancellationToken) -> Router {
    let modules = Modules::new(&app.config, http.clone());
    platform_health::router(app, front, modules.clone())
        .merge(platform_logs::router(app, modules, stop.clone()))
        .merge(live::router(app, http, stop))
}

/// Their OpenAPI document.
pub(crate) fn openapi() -> OpenApi {
    let info = Info { title: "Atelier gateway", description: "What the gateway answers itself." };
    let mut document = platform_health::documented();
    api::openapi::merge(&mut document, platform_logs::documented());
    api::openapi::merge(&mut document, live::documented());
    api::openapi::finish(document, info)
}
