//! Pods: created, nominated, deleted, released; the last lines of their logs.

use std::time::Duration;

use crds::{GpuUnit, names};
use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, LogParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt as _};
use plans::observation::{ClaimRef, PodRef};
use plans::unit::action::LogSource;
use serde_json::{Value, json};

use super::{Applier, WriteError, conflict, finalizer_patch, is_gone, post_params};

/// Delays before a pod is created again in a namespace whose quota is not counted yet, which takes milliseconds; after
/// them, the ordinary backoff.
const UNTIL_COUNTED: [Duration; 4] = [
    Duration::from_millis(3),
    Duration::from_millis(6),
    Duration::from_millis(12),
    Duration::from_millis(24),
];
/// Longest log tail that a status has, in bytes.
const LOG_TAIL_MAX: usize = 4096;
/// Most bytes of a log that are read.
const LOG_READ_MAX: i64 = 64 * 1024;

impl Applier {
    pub(super) fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Pods are created, not applied: the spec of a pod cannot change, and a second creation must fail.
    pub(super) async fn create_pod(&self, unit: &GpuUnit, pod: &Pod) -> Result<(), WriteError> {
        let api = self.pods(&pod.namespace().unwrap_or_default());
        let role = pod.labels().get(names::LABEL_ROLE).map(String::as_str);
        let is_instance = role == Some(names::ROLE_INSTANCE);
        let action = match role {
            Some(names::ROLE_INSTANCE) => "create_instance",
            Some(names::ROLE_GUARD) => "create_guard",
            Some(names::ROLE_BARRIER) => "create_barrier",
            _ => "create_placeholder",
        };
        let params = post_params();
        let mut created = self.write(action, &pod.name_any(), api.create(&params, pod)).await;
        for delay in UNTIL_COUNTED {
            if !created.as_ref().is_err_and(is_uncounted) {
                break;
            }
            tokio::time::sleep(delay).await;
            created = self.write(action, &pod.name_any(), api.create(&params, pod)).await;
        }
        match created {
            Ok(created) => {
                if is_instance && let Some(requested) = self.cache.requested_at(&unit.name_any()) {
                    self.metrics.pod_created(requested.elapsed());
                }
                self.cache.put_created(&created);
                Ok(())
            }
            Err(WriteError::Api(kube::Error::Api(status))) => match status.code {
                // created by an earlier attempt, or an earlier pod of this name still exists
                409 => Err(WriteError::Conflict),
                404 => {
                    self.forget_namespace(&pod.namespace().unwrap_or_default());
                    Err(WriteError::Conflict)
                }
                400 | 403 | 422 if is_instance && !is_transient(&status) => {
                    Err(WriteError::Rejected(status.message))
                }
                _ => Err(WriteError::Api(kube::Error::Api(status))),
            },
            Err(error) => Err(error),
        }
    }

    /// Creates the pod of a download. One that exists was created by an earlier attempt, and will be observed.
    pub(crate) async fn create_download(&self, pod: &Pod) -> Result<(), WriteError> {
        let api = self.pods(&pod.namespace().unwrap_or_default());
        match self.write("create_download", &pod.name_any(), api.create(&post_params(), pod)).await {
            Ok(created) => {
                self.cache.put_download(&created);
                Ok(())
            }
            Err(WriteError::Api(kube::Error::Api(status))) if status.code == 404 => {
                self.forget_namespace(&pod.namespace().unwrap_or_default());
                Err(WriteError::Conflict)
            }
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn nominate(&self, pod: &PodRef, node: &str) -> Result<(), WriteError> {
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
            // the scheduler has bound the pod already
            Err(WriteError::Api(kube::Error::Api(status)))
                if status.code == 422 && status.message.contains("already bound") =>
            {
                Ok(())
            }
            Err(WriteError::Api(error)) if is_gone(&error) => Err(WriteError::Conflict),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    /// Binds a pod that is nominated for the node. An earlier attempt may have done so already.
    pub(super) async fn bind(
        &self,
        unit: &GpuUnit,
        pod: &PodRef,
        node: &str,
        claim: Option<&ClaimRef>,
    ) -> Result<(), WriteError> {
        if let Some(claim) = claim {
            // the kubelet starts no pod that its claim is not reserved for
            let known = self.cache.pods(&unit.name_any());
            let known = known.iter().find(|known| known.name == pod.name && known.namespace == pod.namespace);
            let known = known.ok_or(WriteError::Conflict)?.reference();
            self.reserve_device_claim(unit, claim, Some(&known)).await?;
        }
        let api = self.pods(&pod.namespace);
        let body = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let params = post_params();
        let bound = api.create_subresource::<Value, Value>("binding", &pod.name, &params, &body);
        match self.write("bind", &pod.name, bound).await {
            Err(WriteError::Api(kube::Error::Api(status))) => match status.code {
                409 => Ok(()),
                404 => Err(WriteError::Conflict),
                _ => Err(WriteError::Api(kube::Error::Api(status))),
            },
            Ok(_) => {
                self.cache.mark_bound(&unit.name_any(), &pod.namespace, &pod.name, node);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn delete_pod(&self, pod: &PodRef, grace: Option<u32>) -> Result<(), WriteError> {
        let params = DeleteParams {
            grace_period_seconds: grace,
            preconditions: pod
                .uid
                .clone()
                .map(|uid| Preconditions { uid: Some(uid), resource_version: pod.version.clone() }),
            ..DeleteParams::default()
        };
        let api = self.pods(&pod.namespace);
        match self.write("delete_pod", &pod.name, api.delete(&pod.name, &params)).await {
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(()),
            // it has changed since it was observed, or is another pod of the name
            Err(WriteError::Api(kube::Error::Api(status))) if status.code == 409 => match pod.version {
                Some(_) => Err(WriteError::Conflict),
                None => Ok(()),
            },
            other => other.map(drop),
        }
    }

    pub(super) async fn release_pod(&self, pod: &PodRef) -> Result<(), WriteError> {
        let api = self.pods(&pod.namespace);
        // a merge patch cannot remove one element: the list is read first, and the patch is bound to that version
        let body = match api.get_opt(&pod.name).await.map_err(WriteError::Api)? {
            Some(found) if found.uid().as_deref() == pod.uid.as_deref() => {
                finalizer_patch(&found, names::FINALIZER_RUN, false)
            }
            _ => return Ok(()),
        };
        let Some(body) = body else { return Ok(()) };
        let params = PatchParams::default();
        match self.write("release_pod", &pod.name, api.patch(&pod.name, &params, &Patch::Merge(&body))).await
        {
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(()),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            other => other.map(drop),
        }
    }

    /// The last log lines of a container; empty if they cannot be read, which does not stop a plan.
    pub(crate) async fn log_tail(&self, source: &LogSource) -> String {
        let api = self.pods(&source.pod.namespace);
        // a container that ended may have been restarted since: then its log is the previous one
        for previous in [source.previous, !source.previous] {
            let params = LogParams {
                container: Some(names::CONTAINER.to_owned()),
                tail_lines: Some(self.settings.log_tail_lines),
                limit_bytes: Some(LOG_READ_MAX),
                previous,
                ..LogParams::default()
            };
            let mut bytes = Vec::new();
            let read = async {
                let mut log = api.log_stream(&source.pod.name, &params).await?;
                log.read_to_end(&mut bytes).await?;
                anyhow::Ok(())
            };
            match read.await {
                Ok(()) if bytes.is_empty() => {}
                Ok(()) => return last_lines(&bytes),
                Err(error) => tracing::debug!(pod = source.pod.name, previous, %error, "log not available"),
            }
        }
        String::new()
    }
}

/// Errors that clear up by themselves or need an administrator: a terminating namespace, a new namespace without a
/// service account or counted quota, a missing permission of the operator.
const TRANSIENT: [&str; 4] =
    ["is being terminated", "error looking up service account", UNCOUNTED, "cannot create resource"];
/// The cluster has not counted a new quota yet.
const UNCOUNTED: &str = "status unknown for quota";

fn is_uncounted(error: &WriteError) -> bool {
    matches!(error, WriteError::Api(kube::Error::Api(status)) if status.message.contains(UNCOUNTED))
}

/// Whether the rejection is not about the pod.
fn is_transient(status: &kube::core::Status) -> bool {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
        || TRANSIENT.iter().any(|text| status.message.contains(text))
}

fn last_lines(log: &[u8]) -> String {
    let last = &log[log.len().saturating_sub(LOG_TAIL_MAX)..];
    String::from_utf8_lossy(last).trim_end().replace('\0', "\u{fffd}")
}
