//! The operator, played: what it writes into a unit's status, step by step, at times that a test chooses.

use crds::{GpuUnit, names};
use jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// The moment from which a test counts seconds.
pub(crate) const EPOCH: i64 = 1_800_000_000;

/// A time on the wire.
pub(crate) fn at(second: i64) -> String {
    Timestamp::from_second(EPOCH + second).unwrap().to_string()
}

pub(crate) struct Operator {
    units: Api<GpuUnit>,
}

fn held() -> Value {
    let condition = |kind: &str, reason: &str| json!({ "type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": at(0) });
    json!([condition("Held", "Holding"), condition("TenantCode", "Isolated")])
}

impl Operator {
    pub(crate) fn new(kube: kube::Client) -> Self {
        Self { units: Api::all(kube) }
    }

    /// A unit as the stock service makes it, which the operator holds a place for.
    pub(crate) async fn make_unit(&self, name: &str) {
        self.make_unit_in(name, "dev-1").await;
    }

    pub(crate) async fn make_unit_in(&self, name: &str, datacenter: &str) {
        let unit: GpuUnit = serde_json::from_value(json!({
            "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit", "metadata": { "name": name },
            "spec": {
                "gpuSpec": "3080-small-4-1", "datacenter": datacenter, "resources": { "cpu": "1", "memory": "1Gi" },
                "gpu": { "model": "RTX 3080", "count": 1,
                         "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } },
            },
        }))
        .unwrap();
        self.units.create(&PostParams::default(), &unit).await.unwrap();
        self.status(name, json!({ "state": "init", "node": "node-1", "conditions": held() })).await;
    }

    /// The operator reports that the unit runs no code of tenants, or that it does.
    pub(crate) async fn isolates(&self, name: &str, isolates: bool) {
        let mut conditions = held();
        if !isolates {
            conditions[1] = json!({ "type": "TenantCode", "status": "False", "reason": "NoIsolatedRuntime",
                "message": "the cluster has no isolated runtime", "lastTransitionTime": at(0) });
        }
        self.status(name, json!({ "conditions": conditions })).await;
    }

    pub(crate) async fn unit(&self, name: &str) -> GpuUnit {
        self.units.get(name).await.unwrap()
    }

    /// Merges into the status, which then answers the spec as it is now.
    pub(crate) async fn status(&self, name: &str, mut status: Value) {
        let generation = self.unit(name).await.metadata.generation;
        status["observedGeneration"] = json!(generation);
        let patch = json!({ "status": status });
        let params =
            PatchParams { field_manager: Some(names::MANAGER_OPERATOR.into()), ..Default::default() };
        self.units.patch_status(name, &params, &Patch::Merge(&patch)).await.unwrap();
    }

    fn present(wanted: &crds::Instance, since: Option<i64>) -> Value {
        json!({
            "id": wanted.id, "attempt": wanted.attempt, "restart": wanted.restart,
            "namespace": wanted.tenant_id, "podName": format!("{}-{}", wanted.id, wanted.attempt),
            "podIp": "127.1.2.3", "startedAt": at(0), "runningSince": since.map(at), "restarts": 0,
        })
    }

    async fn wanted(&self, name: &str) -> crds::Instance {
        self.unit(name).await.spec.instance.expect("the unit names an instance")
    }

    /// The pod is being made.
    pub(crate) async fn begun(&self, name: &str) {
        let present = Self::present(&self.wanted(name).await, None);
        self.status(name, json!({ "state": "ready", "instance": present })).await;
    }

    /// The probe passes since the test's second 100.
    pub(crate) async fn ready(&self, name: &str) {
        self.ready_since(name, 100).await;
    }

    pub(crate) async fn ready_since(&self, name: &str, since: i64) {
        let present = Self::present(&self.wanted(name).await, Some(since));
        self.status(name, json!({ "state": "running", "instance": present })).await;
    }

    fn run(status: &crds::GpuUnitStatus, until: i64, reason: &str) -> Value {
        let present = status.instance.as_ref().expect("something is in the unit");
        json!({
            "instanceId": present.id, "attempt": present.attempt, "runningSince": present.running_since,
            "endedAt": at(until), "reason": reason,
        })
    }

    /// What was in the unit has ended; it holds its place again.
    pub(crate) async fn ended(&self, name: &str, until: i64) {
        let status = self.unit(name).await.status.unwrap();
        let mut patch = json!({ "state": "init", "instance": null });
        if status.instance.as_ref().is_some_and(|present| present.running_since.is_some()) {
            let run = Self::run(&status, until, "Stopped");
            patch["lastRun"] = run.clone();
            patch["recentRuns"] = json!([run]);
        }
        self.status(name, patch).await;
    }

    /// The container has ended by itself and is being started again.
    pub(crate) async fn crashed(&self, name: &str, until: i64) {
        let status = self.unit(name).await.status.unwrap();
        let run = Self::run(&status, until, "ContainerExited");
        let patch = json!({
            "state": "ready", "lastRun": run, "recentRuns": [run], "instance": { "runningSince": null },
            "conditions": [held()[0], { "type": "InstanceReady", "status": "False",
                "reason": "ContainerRestarting", "message": "the container ended", "lastTransitionTime": at(0) }],
        });
        self.status(name, patch).await;
    }

    /// The start has failed.
    pub(crate) async fn failed(&self, name: &str) {
        let wanted = self.wanted(name).await;
        let failure = json!({
            "instanceId": wanted.id, "attempt": wanted.attempt, "reason": "ContainerExited",
            "message": "the container ended before it was ready: exit code 3",
            "logTail": "loading model\nout of memory\n", "at": at(50),
        });
        self.status(name, json!({ "state": "init", "instance": null, "lastFailure": failure })).await;
    }

    /// The unit's node does not answer.
    pub(crate) async fn node_lost(&self, name: &str, until: i64) {
        let status = self.unit(name).await.status.unwrap();
        let run = Self::run(&status, until, "NodeLost");
        let patch = json!({
            "state": "init", "instance": null, "lastRun": run, "recentRuns": [run],
            "conditions": [{ "type": "Held", "status": "False", "reason": "NodeLost",
                "message": "node-1 does not answer", "lastTransitionTime": at(0) }],
        });
        self.status(name, patch).await;
    }

    /// The kubelet has refused the pod, because another has the place.
    pub(crate) async fn place_lost(&self, name: &str) {
        let present = Self::present(&self.wanted(name).await, None);
        let condition = |kind: &str, reason: &str| {
            json!({ "type": kind, "status": "False", "reason": reason, "message": "the place is used",
                    "lastTransitionTime": at(0) })
        };
        let conditions = [condition("Held", "PlaceLost"), condition("InstanceReady", "WaitingForPlace")];
        self.status(name, json!({ "state": "init", "instance": present, "conditions": conditions })).await;
    }

    /// The unit's node answers again, and the unit has no instance.
    pub(crate) async fn node_back(&self, name: &str) {
        self.status(name, json!({ "conditions": held() })).await;
    }

    /// The pod has disappeared while nobody watched; the operator notices at `noticed`.
    pub(crate) async fn vanished(&self, name: &str, noticed: i64) {
        let status = self.unit(name).await.status.unwrap();
        let mut run = Self::run(&status, noticed, "PodDeleted");
        run["endUnseen"] = json!(true);
        let patch = json!({
            "state": "ready", "lastRun": run, "recentRuns": [run], "instance": { "runningSince": null },
        });
        self.status(name, patch).await;
    }

    /// Somebody deletes the unit.
    pub(crate) async fn delete(&self, name: &str) {
        self.units.delete(name, &kube::api::DeleteParams::default()).await.unwrap();
    }
}
