//! The Operator API, for scripts and other internal services. It uses the same custom
//! resources as the services, and only units that were created through it, so that it never uses a unit that the stock
//! service manages.
//!
//! Every call can be repeated: stocks by `operationID`, instances by `instanceID`, storages by `storageID`. The calls for
//! storage accessors belong to the storage service and are missing here.

mod instances;
mod stocks;
mod storages;

use api::openapi::Info;
use api::{Checks, Problem, openapi::OpenApiRouter};
use auth::Caller;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::SecurityRequirement;

use crate::state::AppState;

/// A caller with a service token.
struct ServiceCaller;

impl FromRequestParts<AppState> for ServiceCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        Caller::of(parts, state.callers()).map(|_| Self)
    }
}

fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().merge(stocks::routes()).merge(instances::routes()).merge(storages::routes())
}

/// The routes of the Operator API.
pub fn router(state: AppState) -> axum::Router {
    routes().split_for_parts().0.with_state(state)
}

/// The OpenAPI document of the Operator API.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = routes().split_for_parts().1;
    document.security = Some(vec![SecurityRequirement::new("service_token", Vec::<String>::new())]);
    let info = Info {
        title: "Atelier operator",
        description: "Stocks, GPU instances and storages of one cluster, for scripts and internal services.",
    };
    api::openapi::finish(document, info)
}

/// Requires 1 to `most` characters without control characters, for values that are not shown as names.
fn require_text(checks: &mut Checks, pointer: &str, text: &str, most: usize) {
    let is_valid = (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    checks.require(is_valid, pointer, format!("must be 1 to {most} characters without control characters"));
}
