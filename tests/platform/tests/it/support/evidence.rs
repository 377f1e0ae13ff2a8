//! What the cluster did, recorded independently of the services: pods at each moment, and runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use crds::{GpuUnit, Run, names};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt,
    runtime::watcher::{self, Event, watcher},
};

/// What identifies a run: instance, attempt and start.
type RunKey = (String, i64, Timestamp);

/// A run as the operator last reported it.
#[derive(Debug, Clone)]
pub(crate) struct RunEvidence {
    /// Name of the instance in the cluster.
    pub(crate) instance: String,
    /// Start.
    pub(crate) started_at: Timestamp,
    /// End.
    pub(crate) ended_at: Timestamp,
    /// Whether the end is only known to be no later.
    pub(crate) end_unseen: bool,
}

/// A pod whose containers may run.
#[derive(Debug, Clone)]
struct LivePod {
    unit: String,
    instance: String,
    node: String,
    /// A pod that is deleted stays until its node confirms it. Of a node that was lost meanwhile it runs nowhere.
    is_terminating: bool,
}

/// By uid.
type LivePods = BTreeMap<String, LivePod>;

#[derive(Debug, Default)]
struct Records {
    live: LivePods,
    runs: BTreeMap<RunKey, RunEvidence>,
    violations: Vec<String>,
    /// Nodes that are lost now.
    lost_nodes: BTreeSet<String>,
    /// Uids of pods whose node was lost.
    lost: BTreeSet<String>,
}

/// The records, which grow in the background.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    records: Arc<Mutex<Records>>,
}

impl Evidence {
    /// Starts to record.
    #[must_use]
    pub(crate) fn record(kube: &kube::Client) -> Self {
        let evidence = Self::default();
        tokio::spawn(evidence.clone().watch_pods(kube.clone()));
        tokio::spawn(evidence.clone().watch_units(kube.clone()));
        evidence
    }

    /// Two instances in one unit, or one instance in two.
    #[must_use]
    pub(crate) fn violations(&self) -> Vec<String> {
        self.records.lock().unwrap().violations.clone()
    }

    /// Ended runs, by instance and start.
    #[must_use]
    pub(crate) fn runs(&self) -> Vec<RunEvidence> {
        self.records.lock().unwrap().runs.values().cloned().collect()
    }

    /// The pods of a node are lost with it.
    pub(crate) fn lose_node(&self, node: &str) {
        let mut records = self.records.lock().unwrap();
        records.lost_nodes.insert(node.to_owned());
        let lost = records.live.iter().filter(|(_, pod)| pod.node == node).map(|(uid, _)| uid.clone());
        let lost: Vec<String> = lost.collect();
        records.lost.extend(lost);
    }

    /// The node comes back.
    pub(crate) fn recover_node(&self, node: &str) {
        self.records.lock().unwrap().lost_nodes.remove(node);
    }

    /// Pods of instances that exist.
    #[must_use]
    pub(crate) fn live_pods(&self) -> usize {
        self.records.lock().unwrap().live.len()
    }

    async fn watch_pods(self, kube: kube::Client) {
        let role = format!("{}={}", names::LABEL_ROLE, names::ROLE_INSTANCE);
        let config = watcher::Config::default().labels(&role);
        let mut events = watcher(Api::<Pod>::all(kube), config).boxed();
        let mut listed = LivePods::new();
        while let Some(event) = events.next().await {
            let mut records = self.records.lock().unwrap();
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(pod)) => listed.extend(live(&pod)),
                Ok(Event::InitDone) => records.live = std::mem::take(&mut listed),
                Ok(Event::Apply(pod)) => {
                    records.live.remove(&pod.uid().unwrap());
                    if let Some(pod) = live(&pod) {
                        records.check(&pod.1);
                        if records.lost_nodes.contains(&pod.1.node) {
                            records.lost.insert(pod.0.clone());
                        }
                        records.live.extend([pod]);
                    }
                }
                Ok(Event::Delete(pod)) => drop(records.live.remove(&pod.uid().unwrap())),
                // the watch begins anew with a list
                Err(_) => {}
            }
        }
    }

    async fn watch_units(self, kube: kube::Client) {
        let mut events = watcher(Api::<GpuUnit>::all(kube), watcher::Config::default()).boxed();
        while let Some(event) = events.next().await {
            let Ok(Event::InitApply(unit) | Event::Apply(unit)) = event else { continue };
            let name = unit.name_any();
            let runs = unit.status.unwrap_or_default().recent_runs;
            self.records.lock().unwrap().add_runs(&name, runs);
        }
    }
}

impl Records {
    fn add_runs(&mut self, unit: &str, runs: Vec<Run>) {
        let mut keys = BTreeSet::new();
        for run in runs {
            let key = (run.instance_id.clone(), run.attempt, run.running_since.0);
            if !keys.insert(key.clone()) {
                self.violations.push(format!("{unit} has the run {key:?} twice"));
            }
            let run = RunEvidence {
                instance: run.instance_id,
                started_at: run.running_since.0,
                ended_at: run.ended_at.0,
                end_unseen: run.end_unseen,
            };
            self.runs.insert(key, run);
        }
    }

    /// Compares a pod that runs with the others that run.
    fn check(&mut self, pod: &LivePod) {
        for (uid, other) in &self.live {
            let is_lost = other.is_terminating && self.lost.contains(uid);
            if !is_lost && (other.unit == pod.unit) != (other.instance == pod.instance) {
                self.violations.push(format!("{pod:?} beside {other:?}"));
            }
        }
    }
}

/// The pod, unless its containers have ended.
fn live(pod: &Pod) -> Option<(String, LivePod)> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let label = |name: &str| pod.labels().get(name).cloned();
    let live = LivePod {
        unit: label(names::LABEL_UNIT)?,
        instance: label(names::LABEL_INSTANCE)?,
        node: pod.spec.as_ref()?.node_name.clone().unwrap_or_default(),
        is_terminating: pod.metadata.deletion_timestamp.is_some(),
    };
    Some((pod.uid()?, live))
}
