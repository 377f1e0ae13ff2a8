//! The one place that writes to the cluster for custom resources. It asks the fence first and decides nothing.

mod device_claims;
mod namespaces;
mod places;
mod pods;
mod resources;

use std::sync::Arc;

use crds::{GpuUnit, names};
use kube::api::{PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use plans::settings::Settings;
use plans::tenant::Owner;
use plans::unit::action::Action;
use serde_json::{Value, json};
use traces::SpanKind;

use super::cache::Cache;
use super::election::Fence;
use super::metrics::Metrics;

/// A point at which a test can intervene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Just before the write.
    Before,
    /// Just after the write.
    After,
}

/// The decision of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The operator continues.
    Continue,
    /// The write never returns, as if the process had been killed at this point.
    Hang,
}

/// Called around every write with the names of the action and the object. Tests inject faults here.
pub type Hook = Arc<dyn Fn(Step, &str, &str) -> Verdict + Send + Sync>;

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// This replica does not lead.
    #[error("this replica does not lead")]
    Fenced,
    /// The object changed after it was observed.
    #[error("the object changed meanwhile")]
    Conflict,
    /// The API server rejected an instance's pod as invalid or not allowed.
    #[error("rejected: {0}")]
    Rejected(String),
    /// The API server rejected a claim as invalid for the unit's spec.
    #[error("invalid: {0}")]
    Invalid(String),
    /// Any other error of the API server.
    #[error("{}", api_error_text(.0))]
    Api(kube::Error),
}

/// An API error without the dump of its whole status.
fn api_error_text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} {}: {}", status.code, status.reason, status.message),
        other => other.to_string(),
    }
}

/// Writes on behalf of the leader.
#[derive(Clone)]
pub(crate) struct Applier {
    pub(crate) client: Client,
    pub(crate) cache: Cache,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Metrics,
    pub(crate) fence: Fence,
    pub(crate) hook: Option<Hook>,
}

fn apply_params() -> PatchParams {
    PatchParams::apply(names::MANAGER_OPERATOR).force()
}

fn post_params() -> PostParams {
    PostParams { field_manager: Some(names::MANAGER_OPERATOR.to_owned()), ..PostParams::default() }
}

/// Whether the object does not exist.
fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// A conflict, if the API server reports one.
fn conflict(error: kube::Error) -> WriteError {
    match error {
        kube::Error::Api(status) if status.code == 409 => WriteError::Conflict,
        other => WriteError::Api(other),
    }
}

/// The object was created now or by an earlier attempt.
fn created<T>(result: Result<T, WriteError>) -> Result<(), WriteError> {
    match result {
        Err(WriteError::Api(kube::Error::Api(status))) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}

impl Applier {
    async fn write<T>(
        &self,
        action: &str,
        name: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WriteError> {
        self.call_hook(Step::Before, action, name).await;
        // last, right before the request: this process may have been frozen for any time
        if !self.fence.is_open() {
            return Err(WriteError::Fenced);
        }
        let mut span = traces::child(SpanKind::Client, action);
        span.set("atelier.object.name", name);
        let result = request.await;
        match &result {
            Err(kube::Error::Api(status)) => {
                span.fail(&status.code.to_string());
                self.metrics.write_refused(action);
            }
            Err(_) => {
                span.fail("no_response");
                self.metrics.wrote(action);
            }
            Ok(_) => self.metrics.wrote(action),
        }
        drop(span);
        self.call_hook(Step::After, action, name).await;
        result.map_err(WriteError::Api)
    }

    async fn call_hook(&self, step: Step, action: &str, name: &str) {
        if self.hook.as_ref().is_some_and(|hook| hook(step, action, name) == Verdict::Hang) {
            std::future::pending::<()>().await;
        }
    }

    /// Carries out one action of a unit's plan.
    pub(crate) async fn unit_action(&self, unit: &GpuUnit, action: &Action) -> Result<(), WriteError> {
        match action {
            Action::AddFinalizer => self.set_finalizer(unit, names::FINALIZER_UNIT, true).await.map(|unit| {
                if let Some(unit) = unit {
                    self.cache.put_unit(unit);
                }
            }),
            Action::RemoveFinalizer => self.set_finalizer(unit, names::FINALIZER_UNIT, false).await.map(drop),
            Action::CreateTenantNamespace { namespace, root_inside } => {
                self.create_namespace(Owner::Tenant(namespace), *root_inside).await
            }
            Action::EnsureTenantNamespace { namespace, root_inside } => {
                self.ensure_namespace(Owner::Tenant(namespace), *root_inside).await
            }
            Action::EnsureUnitNamespace { root_inside } => {
                self.ensure_namespace(Owner::Unit(unit), *root_inside).await
            }
            Action::CreateClaim(claim) => self.create_device_claim(claim).await,
            Action::ReserveClaim(claim) => self.reserve_device_claim(unit, claim, None).await,
            Action::UnreserveClaim(claim) => self.unreserve_device_claim(claim).await,
            Action::DeleteClaim(claim) => self.delete_device_claim(claim).await,
            Action::CreateMirror { storage, volume } => self.create_mirror(unit, storage, volume).await,
            Action::DeleteMirror(mirror) => self.delete_mirror(mirror).await,
            Action::CreatePod(pod) => self.create_pod(unit, pod).await,
            Action::Nominate { pod, node } => self.nominate(pod, node).await,
            Action::Bind { pod, node, claim } => self.bind(unit, pod, node, claim.as_ref()).await,
            Action::DeletePod { pod, grace } => {
                self.delete_pod(pod, *grace).await?;
                self.cache.mark_deleting(&unit.name_any(), pod.uid.as_deref().unwrap_or_default());
                Ok(())
            }
            Action::ReleasePod(pod) => self.release_pod(pod).await,
        }
    }
}

/// The patch that adds or removes a finalizer, bound to the version that was read. `None` if there is nothing to do.
fn finalizer_patch<K: Resource>(object: &K, finalizer: &str, wanted: bool) -> Option<Value> {
    let mut all: Vec<&str> = object.finalizers().iter().map(String::as_str).collect();
    if all.contains(&finalizer) == wanted {
        return None;
    }
    if wanted {
        all.push(finalizer);
    } else {
        all.retain(|name| *name != finalizer);
    }
    Some(json!({"metadata": {"finalizers": all, "resourceVersion": object.resource_version()}}))
}
