//! The one place that writes to the cluster, after asking the fence; it decides nothing.

use std::fmt::Debug;
use std::sync::Arc;

use crds::{GpuStorage, GpuStorageStatus, GpuUnit, GpuUnitStatus, names};
use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim, Pod, ResourceQuota};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{DeleteParams, LogParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cache::Cache;
use super::election::Fence;
use super::metrics::Metrics;
use super::watch::applied;
use crate::settings::Settings;
use crate::tenant::{self, Owner};
use crate::unit::action::{Action, LogOf};
use crate::unit::devices;
use crate::view::{ClaimRef, MirrorView, PodRef, UNITS};

/// Most bytes of a log tail that a status carries.
const LOG_BYTES: usize = 4096;

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

/// Called around every write with the word of the action and the name of the object. Tests inject faults here.
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
    #[error("{}", words(.0))]
    Api(kube::Error),
}

/// An API error without the dump of its whole status.
fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} {}: {}", status.code, status.reason, status.message),
        other => other.to_string(),
    }
}

/// Writes, on behalf of the leader.
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

fn gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn conflict(error: kube::Error) -> WriteError {
    match error {
        kube::Error::Api(status) if status.code == 409 => WriteError::Conflict,
        other => WriteError::Api(other),
    }
}

/// Made now, or by an earlier life of this operator.
fn made<T>(result: Result<T, WriteError>) -> Result<(), WriteError> {
    match result {
        Err(WriteError::Api(kube::Error::Api(status))) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}

impl Applier {
    async fn write<T>(
        &self,
        word: &str,
        name: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WriteError> {
        if !self.fence.is_open() {
            return Err(WriteError::Fenced);
        }
        self.call_hook(Step::Before, word, name).await;
        self.metrics.wrote(word);
        let result = request.await;
        self.call_hook(Step::After, word, name).await;
        result.map_err(WriteError::Api)
    }

    async fn call_hook(&self, step: Step, word: &str, name: &str) {
        if self.hook.as_ref().is_some_and(|hook| hook(step, word, name) == Verdict::Hang) {
            std::future::pending::<()>().await;
        }
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn claims(&self, namespace: &str) -> Api<ResourceClaim> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// One action of a unit's plan.
    pub(crate) async fn unit_action(&self, unit: &GpuUnit, action: &Action) -> Result<(), WriteError> {
        match action {
            Action::AddFinalizer => self.finalizer(unit, names::FINALIZER_UNIT, true).await.map(|unit| {
                if let Some(unit) = unit {
                    self.cache.put_unit(unit);
                }
            }),
            Action::RemoveFinalizer => self.finalizer(unit, names::FINALIZER_UNIT, false).await.map(drop),
            Action::EnsureTenant { namespace, root_inside } => {
                self.namespace(Owner::Tenant(namespace), *root_inside, false).await
            }
            Action::EnsureHome { root_inside } => {
                self.namespace(Owner::Home(unit), *root_inside, false).await
            }
            Action::CreateClaim(claim) => self.create_claim(claim).await,
            Action::ReserveClaim(claim) => self.reserve_claim(unit, claim).await,
            Action::UnreserveClaim(claim) => self.unreserve_claim(claim).await,
            Action::DeleteClaim(claim) => self.delete_device_claim(claim).await,
            Action::MirrorVolume { storage, volume } => self.mirror(unit, storage, volume).await,
            Action::DropMirror(mirror) => self.drop_mirror(mirror).await,
            Action::CreatePod(pod) => self.create_pod(unit, pod).await,
            Action::Nominate { pod, node } => self.nominate(pod, node).await,
            Action::DeletePod { pod, grace } => {
                self.delete_pod(pod, *grace).await?;
                self.cache.deleted_pod(&unit.name_any(), pod.uid.as_deref().unwrap_or_default());
                Ok(())
            }
            Action::ReleasePod(pod) => self.release_pod(pod).await,
        }
    }

    /// Pods are made, not applied: what a pod is does not change, and making one that exists must fail.
    async fn create_pod(&self, unit: &GpuUnit, pod: &Pod) -> Result<(), WriteError> {
        let api = self.pods(&pod.namespace().unwrap_or_default());
        let is_instance =
            pod.labels().get(names::LABEL_ROLE).is_some_and(|role| role == names::ROLE_INSTANCE);
        let word = if is_instance { "create_instance" } else { "create_placeholder" };
        match self.write(word, &pod.name_any(), api.create(&post_params(), pod)).await {
            Ok(made) => {
                if is_instance && let Some(asked) = self.cache.asked_at(&unit.name_any()) {
                    self.metrics.pod_created(asked.elapsed());
                }
                self.cache.put_created(&made);
                Ok(())
            }
            Err(WriteError::Api(kube::Error::Api(status))) => match status.code {
                // made already by an earlier life of this operator, or the namesake has not gone yet
                409 => Err(WriteError::Conflict),
                404 => {
                    self.forget_namespace(&pod.namespace().unwrap_or_default());
                    Err(WriteError::Conflict)
                }
                400 | 403 | 422 if is_instance && !is_passing(&status) => {
                    Err(WriteError::Rejected(status.message))
                }
                _ => Err(WriteError::Api(kube::Error::Api(status))),
            },
            Err(error) => Err(error),
        }
    }

    async fn nominate(&self, pod: &PodRef, node: &str) -> Result<(), WriteError> {
        let api = self.pods(&pod.namespace);
        let mut body = json!({"status": {"nominatedNodeName": node}});
        if let Some(uid) = &pod.uid {
            body["metadata"] = json!({"uid": uid});
        }
        let patch = Patch::Merge(&body);
        let params =
            PatchParams { field_manager: Some(names::MANAGER_OPERATOR.to_owned()), ..PatchParams::default() };
        match self.write("nominate", &pod.name, api.patch_status(&pod.name, &params, &patch)).await {
            Ok(_) => Ok(()),
            // the scheduler was faster: the pod has its place
            Err(WriteError::Api(kube::Error::Api(status)))
                if status.code == 422 && status.message.contains("already bound") =>
            {
                Ok(())
            }
            Err(WriteError::Api(error)) if gone(&error) => Err(WriteError::Conflict),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    async fn delete_pod(&self, pod: &PodRef, grace: Option<u32>) -> Result<(), WriteError> {
        let params = DeleteParams {
            grace_period_seconds: grace,
            preconditions: pod
                .uid
                .clone()
                .map(|uid| Preconditions { uid: Some(uid), resource_version: None }),
            ..DeleteParams::default()
        };
        let api = self.pods(&pod.namespace);
        match self.write("delete_pod", &pod.name, api.delete(&pod.name, &params)).await {
            // gone, or another of the same name: the very pod does not exist any more
            Err(WriteError::Api(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(drop),
        }
    }

    async fn release_pod(&self, pod: &PodRef) -> Result<(), WriteError> {
        let api = self.pods(&pod.namespace);
        // a merge patch cannot remove one element: the list is read from the cluster, and must not have changed
        let body = match api.get_opt(&pod.name).await.map_err(WriteError::Api)? {
            Some(found) if found.uid().as_deref() == pod.uid.as_deref() => {
                finalizers(&found, names::FINALIZER_RUN, false)
            }
            _ => return Ok(()),
        };
        let Some(body) = body else { return Ok(()) };
        let params = PatchParams::default();
        match self.write("release_pod", &pod.name, api.patch(&pod.name, &params, &Patch::Merge(&body))).await
        {
            Err(WriteError::Api(error)) if gone(&error) => Ok(()),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            other => other.map(drop),
        }
    }

    /// What was known of a namespace that is gone.
    fn forget_namespace(&self, name: &str) {
        self.cache.put_applied(name, &format!("Namespace/{name}"), None, false);
    }

    async fn create_claim(&self, claim: &ResourceClaim) -> Result<(), WriteError> {
        let api = self.claims(&claim.namespace().unwrap_or_default());
        match self.write("create_claim", &claim.name_any(), api.create(&post_params(), claim)).await {
            Ok(made) => {
                self.cache.put_device_claim(&made);
                Ok(())
            }
            Err(WriteError::Api(kube::Error::Api(status))) if status.code == 422 => {
                Err(WriteError::Invalid(status.message))
            }
            Err(WriteError::Api(error)) if gone(&error) => {
                self.forget_namespace(&claim.namespace().unwrap_or_default());
                Err(WriteError::Conflict)
            }
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    async fn reserve_claim(&self, unit: &GpuUnit, claim: &ClaimRef) -> Result<(), WriteError> {
        let user = json!({
            "apiGroup": names::GROUP, "resource": UNITS, "name": unit.name_any(), "uid": unit.uid(),
        });
        let body = json!({
            "apiVersion": ResourceClaim::api_version(&()), "kind": ResourceClaim::kind(&()),
            "metadata": {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid},
            "status": {"reservedFor": [user]},
        });
        let api = self.claims(&claim.namespace);
        let patch = Patch::Apply(&body);
        match self
            .write("reserve_claim", &claim.name, api.patch_status(&claim.name, &apply_params(), &patch))
            .await
        {
            Err(WriteError::Api(error)) if gone(&error) => Err(WriteError::Conflict),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            other => other.map(drop),
        }
    }

    /// Takes every unit's reservation, also that of an earlier unit of the same name.
    async fn unreserve_claim(&self, claim: &ClaimRef) -> Result<(), WriteError> {
        let api = self.claims(&claim.namespace);
        let found = api.get_opt(&claim.name).await.map_err(WriteError::Api)?;
        let Some(found) = found.filter(|found| found.uid().as_ref() == Some(&claim.uid)) else {
            return Ok(());
        };
        let users = found.status.as_ref().and_then(|status| status.reserved_for.clone()).unwrap_or_default();
        let is_unit = |user: &k8s_openapi::api::resource::v1::ResourceClaimConsumerReference| {
            user.api_group.as_deref() == Some(names::GROUP) && user.resource == UNITS
        };
        if !users.iter().any(is_unit) {
            return Ok(());
        }
        let left: Vec<_> = users.iter().filter(|user| !is_unit(user)).collect();
        let body = json!({
            "metadata": {"resourceVersion": found.resource_version()},
            "status": {"reservedFor": left},
        });
        let patch = Patch::Merge(&body);
        match self
            .write(
                "unreserve_claim",
                &claim.name,
                api.patch_status(&claim.name, &PatchParams::default(), &patch),
            )
            .await
        {
            Err(WriteError::Api(error)) if gone(&error) => Ok(()),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            other => other.map(drop),
        }
    }

    async fn delete_device_claim(&self, claim: &ClaimRef) -> Result<(), WriteError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(claim.uid.clone()), resource_version: None }),
            ..DeleteParams::default()
        };
        let api = self.claims(&claim.namespace);
        match self.write("delete_device_claim", &claim.name, api.delete(&claim.name, &params)).await {
            Err(WriteError::Api(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(drop),
        }
    }

    /// The copy first: it is what tells that there is something to take away again.
    async fn mirror(&self, unit: &GpuUnit, storage: &str, volume: &str) -> Result<(), WriteError> {
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let source = volumes.get_opt(volume).await.map_err(WriteError::Api)?.ok_or(WriteError::Conflict)?;
        let copy = devices::mirror(unit, storage, &source);
        let claim = devices::mirror_claim(unit, storage, &source);
        let claims: Api<PersistentVolumeClaim> =
            Api::namespaced(self.client.clone(), &claim.namespace().unwrap_or_default());
        made(self.write("mirror", &copy.name_any(), volumes.create(&post_params(), &copy)).await)?;
        made(self.write("mirror_claim", storage, claims.create(&post_params(), &claim)).await)
    }

    /// The claim first: the copy is what tells that there is something to take away.
    async fn drop_mirror(&self, mirror: &MirrorView) -> Result<(), WriteError> {
        self.delete_claim(&mirror.namespace, &mirror.storage).await?;
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        match self
            .write("drop_mirror", &mirror.name, volumes.delete(&mirror.name, &DeleteParams::default()))
            .await
        {
            Err(WriteError::Api(error)) if gone(&error) => Ok(()),
            other => other.map(drop),
        }
    }

    async fn finalizer<K>(&self, object: &K, finalizer: &str, wanted: bool) -> Result<Option<K>, WriteError>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let Some(body) = finalizers(object, finalizer, wanted) else { return Ok(None) };
        let api: Api<K> = Api::all(self.client.clone());
        let word = if wanted { "add_finalizer" } else { "remove_finalizer" };
        match self
            .write(
                word,
                &object.name_any(),
                api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body)),
            )
            .await
        {
            Ok(object) => Ok(Some(object)),
            Err(WriteError::Api(error)) if gone(&error) => Ok(None),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    /// Finalizers of a storage.
    pub(crate) async fn storage_finalizer(
        &self,
        storage: &GpuStorage,
        wanted: bool,
    ) -> Result<(), WriteError> {
        self.finalizer(storage, names::FINALIZER_VOLUME, wanted).await.map(|storage| {
            if let Some(storage) = storage {
                self.cache.put_storage(storage);
            }
        })
    }

    /// Stores a unit's status, if the unit is still the one it was decided on.
    pub(crate) async fn unit_status(&self, unit: &GpuUnit, status: &GpuUnitStatus) -> Result<(), WriteError> {
        let stored = self.status(unit, status, "unit_status").await?;
        if let Some(stored) = stored {
            self.cache.put_unit(stored);
        }
        Ok(())
    }

    /// Stores a storage's status, if the storage is still the one it was decided on.
    pub(crate) async fn storage_status(
        &self,
        storage: &GpuStorage,
        status: &GpuStorageStatus,
    ) -> Result<(), WriteError> {
        let stored = self.status(storage, status, "storage_status").await?;
        if let Some(stored) = stored {
            self.cache.put_storage(stored);
        }
        Ok(())
    }

    async fn status<K>(
        &self,
        object: &K,
        status: &impl Serialize,
        word: &str,
    ) -> Result<Option<K>, WriteError>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let body = json!({
            "apiVersion": K::api_version(&()), "kind": K::kind(&()),
            "metadata": {"name": object.name_any(), "resourceVersion": object.resource_version()},
            "status": status,
        });
        let api: Api<K> = Api::all(self.client.clone());
        let name = object.name_any();
        match self.write(word, &name, api.patch_status(&name, &apply_params(), &Patch::Apply(&body))).await {
            Ok(stored) => Ok(Some(stored)),
            Err(WriteError::Api(error)) if gone(&error) => Ok(None),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    /// A namespace for instances and what belongs into it; writes only what is missing or differs.
    pub(crate) async fn namespace(
        &self,
        owner: Owner<'_>,
        root_inside: bool,
        repair: bool,
    ) -> Result<(), WriteError> {
        let namespace = owner.namespace();
        let namespace = namespace.as_str();
        let known = self.cache.applied(namespace);
        let allowed = known.get(&format!("Namespace/{namespace}")).is_some_and(|found| found.root_inside);
        // tenants' instances share a namespace; a unit's home is for one instance after another
        let shared = matches!(owner, Owner::Tenant(_));
        let root_inside = root_inside || (allowed && (shared || repair));
        for object in tenant::objects(owner, root_inside, &self.settings) {
            let found = known.get(&object.key());
            if found.is_some_and(|found| found.hash == object.hash && !(repair && found.tampered)) {
                continue;
            }
            let (client, params) = (self.client.clone(), apply_params());
            let patch = Patch::Apply(&object.body);
            let name = object.name.as_str();
            let stored = match object.kind {
                "Namespace" => {
                    let api: Api<Namespace> = Api::all(client);
                    let stored = self.write("tenant", name, api.patch(name, &params, &patch)).await?;
                    // it is going: nothing can be made in it, and to know it would outlive it
                    if stored.metadata.deletion_timestamp.is_some() {
                        return Err(WriteError::Conflict);
                    }
                    Ok(applied(&stored))
                }
                "NetworkPolicy" => {
                    let api: Api<NetworkPolicy> = Api::namespaced(client, namespace);
                    self.write("tenant", name, api.patch(name, &params, &patch))
                        .await
                        .map(|stored| applied(&stored))
                }
                _ => {
                    let api: Api<ResourceQuota> = Api::namespaced(client, namespace);
                    self.write("tenant", name, api.patch(name, &params, &patch))
                        .await
                        .map(|stored| applied(&stored))
                }
            }?;
            self.cache.put_applied(namespace, &object.key(), Some(stored), true);
        }
        Ok(())
    }

    pub(crate) async fn apply_claim(
        &self,
        namespace: &str,
        name: &str,
        body: &Value,
    ) -> Result<(), WriteError> {
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        self.write("claim", name, api.patch(name, &apply_params(), &Patch::Apply(body))).await.map(drop)
    }

    pub(crate) async fn delete_claim(&self, namespace: &str, name: &str) -> Result<(), WriteError> {
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        match self.write("delete_claim", name, api.delete(name, &DeleteParams::default())).await {
            Err(WriteError::Api(error)) if gone(&error) => Ok(()),
            other => other.map(drop),
        }
    }

    /// The last lines of a container; empty when they cannot be had, which never stops a plan.
    pub(crate) async fn log_tail(&self, of: &LogOf) -> String {
        let api = self.pods(&of.pod.namespace);
        for previous in [of.previous, false] {
            let params = LogParams {
                container: Some(names::CONTAINER.to_owned()),
                tail_lines: Some(self.settings.log_tail_lines),
                limit_bytes: Some(64 * 1024),
                previous,
                ..LogParams::default()
            };
            let mut bytes = Vec::new();
            let read = async {
                let mut log = api.log_stream(&of.pod.name, &params).await?;
                log.read_to_end(&mut bytes).await?;
                anyhow::Ok(())
            };
            match read.await {
                Ok(()) => return last_words(&bytes),
                Err(error) => tracing::debug!(pod = of.pod.name, previous, %error, "log not available"),
            }
        }
        String::new()
    }
}

/// A refusal that says nothing about the pod: its namespace is just going (and comes again), or the operator
/// lacks a right.
fn is_passing(status: &kube::core::Status) -> bool {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
        || status.message.contains("is being terminated")
        || status.message.contains("cannot create resource")
}

/// The patch that adds or removes a finalizer, bound to the version that was read; `None`: nothing to do.
fn finalizers<K: Resource>(object: &K, finalizer: &str, wanted: bool) -> Option<Value> {
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

fn last_words(log: &[u8]) -> String {
    let last = &log[log.len().saturating_sub(LOG_BYTES)..];
    String::from_utf8_lossy(last).trim_end().replace('\0', "\u{fffd}")
}
