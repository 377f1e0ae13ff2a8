//! The nodes. A dispatcher follows all pods: on real nodes it starts one worker per pod, which runs the pod as a local
//! process; on fake nodes it only sets the pod's status.

mod admit;
mod environment;
mod fake;
pub(crate) mod heartbeats;
mod image;
mod logs;
mod probe;
mod pull;
pub(crate) mod unsent;
mod volumes;
mod worker;

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use objects::json::text;
use objects::pod::is_over;
use objects::store::Object;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::scheduler::Admitted;
use crate::verbs::delete::{Options, Preconditions};
use crate::verbs::system;

/// A node with this annotation is fake.
const FAKE: &str = "devcluster.atelier.dev/fake";
/// Pause before a worker that has panicked is started again.
const RESTART: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Fake,
}

/// Real nodes come from the configuration. A node that was created through the API is fake if it has the annotation,
/// and otherwise has no kubelet.
pub(crate) fn kind_of(hub: &Hub, node: &str) -> Option<Kind> {
    if let Some(config) = hub.config.nodes.iter().find(|n| n.name == node) {
        return Some(if config.fake { Kind::Fake } else { Kind::Real });
    }
    let node = hub.store.lock().get("nodes", "", node)?;
    (node.value["metadata"]["annotations"][FAKE] == "true").then_some(Kind::Fake)
}

/// How a worker ended: whether its pod is to be checked again.
struct Ended {
    uid: String,
    again: bool,
}

/// A running worker.
struct Worker {
    node: String,
    pod: watch::Sender<Arc<Object>>,
}

struct Dispatcher {
    hub: Arc<Hub>,
    /// The feed of each worker by the uid of its pod.
    workers: HashMap<String, Worker>,
    /// The pods that each node's kubelet has admitted, by node.
    admitted: HashMap<String, Admitted>,
    tasks: JoinSet<Ended>,
}

/// Runs the pods of all nodes until the cluster stops.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["pods"]);
    let (mut failures, mut faults) = (hub.runtime.failures(), hub.faults.follow());
    let mut dispatcher = Dispatcher {
        hub: hub.clone(),
        workers: HashMap::new(),
        admitted: HashMap::new(),
        tasks: JoinSet::new(),
    };
    loop {
        tokio::select! {
            () = hub.stop.cancelled() => break,
            Some(ended) = dispatcher.tasks.join_next(), if !dispatcher.tasks.is_empty() => {
                match ended {
                    Ok(ended) => dispatcher.ended(&ended),
                    Err(error) => tracing::error!(%error, "pod worker lost"),
                }
            }
            changed = failures.changed() => {
                if changed.is_err() { break }
                // pods of a recovered node run again
                dispatcher.read_all();
            }
            // a kubelet that reaches the API server again
            () = faults.next() => dispatcher.read_all(),
            event = hub.faults.next(&Part::ApiServer, &mut feed) => {
                if let objects::store::Event::Resync(pods) = &event {
                    dispatcher.resync(pods);
                }
                for pod in event.deleted() {
                    dispatcher.deleted(pod);
                }
                for pod in event.present() {
                    dispatcher.update(pod);
                }
            }
        }
    }
    dispatcher.workers.clear();
    while dispatcher.tasks.join_next().await.is_some() {}
}

impl Dispatcher {
    /// Keeps the addresses of the pods that exist, and ends the workers of those that do not.
    fn resync(&mut self, pods: &[Arc<Object>]) {
        for pod in pods {
            if let Some(address) = pod.value["status"]["podIP"].as_str() {
                self.hub.runtime.addresses.keep(address);
            }
        }
        let existing: HashSet<&str> = pods.iter().map(|pod| pod.uid()).collect();
        for pods in self.admitted.values_mut() {
            pods.keep(&existing);
        }
        let faults = &self.hub.faults;
        self.workers
            .retain(|uid, worker| existing.contains(uid.as_str()) || !faults.kubelet_reaches(&worker.node));
    }

    fn read_all(&mut self) {
        if self.hub.faults.reaches(&Part::ApiServer) {
            let pods: Vec<Arc<Object>> = self.hub.store.lock().list("pods", "").cloned().collect();
            self.resync(&pods);
            pods.iter().for_each(|pod| self.update(pod));
        }
    }

    /// A worker ends the process when its feed closes.
    fn deleted(&mut self, pod: &Object) {
        if let Some(pods) = self.admitted.get_mut(text(&pod.value["spec"]["nodeName"])) {
            pods.remove(pod.uid());
        }
        let silent = |worker: &Worker| !self.hub.faults.kubelet_reaches(&worker.node);
        if self.workers.get(pod.uid()).is_some_and(silent) {
            return;
        }
        if self.workers.remove(pod.uid()).is_none() {
            clean_up(&self.hub, pod);
        }
    }

    fn update(&mut self, pod: &Arc<Object>) {
        let hub = self.hub.clone();
        isolated("node", pod, || self.run_pod(&hub, pod));
    }

    fn run_pod(&mut self, hub: &Arc<Hub>, pod: &Arc<Object>) {
        let Some(node) = pod.value["spec"]["nodeName"].as_str() else { return };
        if !hub.faults.kubelet_reaches(node) {
            return;
        }
        let failed = hub.runtime.has_failed(node);
        if !failed {
            unsent::send(hub, pod);
        }
        // its worker may not have ended yet
        if is_over(&pod.value)
            && let Some(pods) = self.admitted.get_mut(node)
        {
            pods.remove(pod.uid());
        }
        if let Some(worker) = self.workers.get(pod.uid()) {
            worker.pod.send_replace(pod.clone());
            return;
        }
        if failed || !admit::admit(hub, pod, &mut self.admitted) {
            return;
        }
        match kind_of(hub, node) {
            Some(Kind::Fake) => fake::run(hub, pod),
            Some(Kind::Real) => {
                let (tx, rx) = watch::channel(pod.clone());
                let worker = Worker { node: node.to_owned(), pod: tx };
                self.workers.insert(pod.uid().to_owned(), worker);
                self.tasks.spawn(supervise(hub.clone(), pod.clone(), rx));
            }
            None => {}
        }
    }

    fn ended(&mut self, ended: &Ended) {
        self.workers.remove(&ended.uid);
        let pod = {
            let tx = self.hub.store.lock();
            tx.by_uid(&ended.uid).and_then(|(kind, key)| tx.get(&kind, &key.0, &key.1))
        };
        if let Some(pod) = pod.filter(|_| ended.again) {
            self.update(&pod);
        }
    }
}

/// Runs the worker of a pod. A panic is logged, and the pod is started again after a pause.
async fn supervise(hub: Arc<Hub>, pod: Arc<Object>, feed: watch::Receiver<Arc<Object>>) -> Ended {
    let uid = pod.uid().to_owned();
    let life = AssertUnwindSafe(Box::pin(worker::run(&hub, feed)));
    let again = match life.catch_unwind().await {
        Ok(again) => again,
        Err(panic) => {
            let cause = service::panic_message(&*panic);
            tracing::error!(namespace = pod.namespace(), pod = pod.name(), cause, "pod worker panicked");
            hub.runtime.set_running(&uid, None);
            hub.stop.run_until_cancelled(tokio::time::sleep(RESTART)).await;
            true
        }
    };
    Ended { uid, again }
}

/// Removes the folder, log and address of a pod.
fn clean_up(hub: &Hub, pod: &Object) {
    hub.kubelets.unsent.forget(pod.uid());
    hub.runtime.forget(pod.uid(), pod.value["status"]["podIP"].as_str());
}

/// Removes a pod that has ended from the API.
fn remove(hub: &Hub, pod: &Object) {
    let options = Options {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions::uid(pod.uid())),
        ..Options::default()
    };
    match system::delete(hub, &mut hub.store.lock(), "pods", &pod.key(), &options) {
        Err(error) if !matches!(error.code, 404 | 409) => {
            tracing::error!(%error, pod = pod.name(), "cannot remove pod");
        }
        _ => {}
    }
}
