//! The Operator API of document 001, field for field, for scripts and other internal services: the same
//! custom resources as the services use, underneath. It uses only units that were made through it, so that
//! it never gives away what the stock service has promised to somebody.
//!
//! Every call is safe to repeat: stocks by `operationID`, instances by `instanceID`, storages by
//! `storageID`. The calls for storage accessors are not there: accessors come with the storage service.

mod instances;
mod names;
mod record;
mod stocks;
mod storages;

use std::sync::Arc;

use ::api::Problem;
use auth::{Caller, Callers};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use jiff::Timestamp;
use kube::Client;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::controller::Units;
use record::Records;

/// What its handlers share.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    client: Client,
    records: Records,
    units: Units,
    callers: Callers,
    /// The extended resource that units made here ask for.
    gpu_resource: String,
    clock: fn() -> Timestamp,
}

impl Api {
    /// Over a cluster and what is known of its units, for these callers.
    #[must_use]
    pub fn new(
        client: Client,
        units: Units,
        callers: Callers,
        gpu_resource: String,
        clock: fn() -> Timestamp,
    ) -> Self {
        let records = Records::new(client.clone());
        Self(Arc::new(Inner { client, records, units, callers, gpu_resource, clock }))
    }

    /// Starts the worker that deletes old records of operations.
    pub fn start_workers(&self, workers: &service::Workers) {
        self.0.records.start_workers(workers, self.0.clock);
    }

    /// Forgets the records of operations that are done and were begun before `time`; gives how many.
    ///
    /// # Errors
    /// When the Kubernetes API does not do it.
    pub async fn forget_before(&self, time: Timestamp) -> Result<usize, Problem> {
        self.0.records.forget_before(time).await
    }

    fn units_api(&self) -> kube::Api<crds::GpuUnit> {
        kube::Api::all(self.0.client.clone())
    }
}

/// A caller with a service token.
struct Service;

impl FromRequestParts<Api> for Service {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        Caller::of(parts, &api.0.callers).map(|_| Self)
    }
}

fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().merge(stocks::routes()).merge(instances::routes()).merge(storages::routes())
}

/// Its routes.
pub fn router(api: Api) -> axum::Router {
    routes().split_for_parts().0.with_state(api)
}

/// Its document.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = routes().split_for_parts().1;
    document.info = InfoBuilder::new()
        .title("Atelier operator")
        .version("1")
        .description(Some("The Operator API: stocks, GPU instances and storages of one cluster, for scripts and internal services."))
        .build();
    let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    let known = document.components.take().unwrap_or_default();
    let mut components = ComponentsBuilder::from(known);
    components = components.security_scheme("service_token", scheme);
    document.components = Some(components.build());
    document.security = Some(vec![utoipa::openapi::security::SecurityRequirement::new(
        "service_token",
        Vec::<String>::new(),
    )]);
    document
}

/// 422 unless the text is there and not too long.
fn required(pointer: &str, text: &str, most: usize) -> Result<(), Problem> {
    let length = text.chars().count();
    if (1..=most).contains(&length) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::invalid_field(pointer, format!("must be text of 1 to {most} characters")))
}

/// A refusal of the cluster as an answer: what it will not take is the caller's to change.
fn refused(error: kube::Error) -> Problem {
    match error {
        kube::Error::Api(status) if matches!(status.code, 400 | 422) => {
            Problem::invalid_field("", format!("the cluster does not accept this: {}", status.message))
        }
        other => record::away(other),
    }
}
