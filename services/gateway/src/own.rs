//! The operations that the gateway answers itself.

use std::{net::SocketAddr, sync::Arc};

use api::openapi::Info;
use auth::AuthState;
use axum::Router;
use service::Front;
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;

use crate::{live, modules::Modules, platform_health, platform_logs, services::Services};

/// Paths of these operations.
pub(crate) const PATHS: [&str; 3] = [live::PATH, platform_health::PATH, platform_logs::PATH];

/// The parts that they need.
pub(crate) struct Parts {
    pub(crate) auth: AuthState,
    pub(crate) services: Arc<Services>,
    pub(crate) modules: Modules,
    /// This process.
    pub(crate) front: Front,
    /// The address at which it serves `/metrics` and health checks.
    pub(crate) own_address: SocketAddr,
    pub(crate) http: reqwest::Client,
    /// Ends streams.
    pub(crate) stop: CancellationToken,
}

/// Their routes, without the access that the gateway checks for every operation.
pub(crate) fn router(parts: Parts) -> Router {
    let Parts { auth, services, modules, front, own_address, http, stop } = parts;
    platform_health::router(auth.clone(), own_address, front, modules.clone())
        .merge(platform_logs::router(auth.clone(), own_address, modules, stop.clone()))
        .merge(live::router(auth, services, http, stop))
}

/// Their OpenAPI document.
pub(crate) fn openapi() -> OpenApi {
    let info = Info { title: "Atelier gateway", description: "Endpoints of the gateway itself." };
    let mut document = platform_health::documented();
    api::openapi::merge(&mut document, platform_logs::documented());
    api::openapi::merge(&mut document, live::documented());
    api::openapi::finish(document, info)
}
