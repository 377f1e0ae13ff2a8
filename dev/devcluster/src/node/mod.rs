//! The nodes: a dispatcher that sees each pod bound to one of them, a worker per pod on real nodes, and instant
//! states on fake ones.

mod probe;
pub(crate) mod process;
pub(crate) mod reaper;
pub(crate) mod status;
mod volumes;
mod worker;

use crate::hub::{Hub, now};
use crate::store::{Change, Object, Op};
use crate::verbs::{Write, delete};
use process::Spawner;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Where a running container is: what `exec` needs.
#[derive(Clone)]
pub(crate) struct Place {
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
}

/// What the rest of the process may ask the nodes.
pub(crate) struct Nodes {
    data: PathBuf,
    pub spawner: Arc<Spawner>,
    running: Mutex<HashMap<String, Place>>,
    logs: Mutex<HashMap<String, watch::Sender<u64>>>,
    failed: watch::Sender<HashSet<String>>,
    addresses: Mutex<Addresses>,
}

struct Addresses {
    next: u32,
    used: HashSet<String>,
}

/// Pods' addresses are 127.64.0.0/10: every address of 127.0.0.0/8 is this machine on Linux. Chance says where
/// in it a cluster begins: another cluster of the machine uses them, too.
const FIRST: u32 = 0x7f40_0000;
const COUNT: u32 = 1 << 22;

impl Nodes {
    pub(crate) fn new(data: PathBuf) -> anyhow::Result<Self> {
        reaper::reap(&data.join("pods"));
        Ok(Self {
            data,
            spawner: Arc::new(Spawner::start()?),
            running: Mutex::default(),
            logs: Mutex::default(),
            failed: watch::Sender::new(HashSet::new()),
            addresses: Mutex::new(Addresses { next: rand::random_range(0..COUNT), used: HashSet::new() }),
        })
    }
    pub(crate) fn pod_dir(&self, uid: &str) -> PathBuf {
        self.data.join("pods").join(uid)
    }
    pub(crate) fn volume_dir(&self, volume: &str) -> PathBuf {
        self.data.join("volumes").join(volume)
    }
    pub(crate) fn log_file(&self, uid: &str, previous: bool) -> PathBuf {
        self.pod_dir(uid).join(if previous { "previous.log" } else { "container.log" })
    }
    /// The running container of a pod.
    pub(crate) fn running(&self, uid: &str) -> Option<Place> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).get(uid).cloned()
    }
    fn set_running(&self, uid: &str, place: Option<Place>) {
        let mut map = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match place {
            Some(place) => drop(map.insert(uid.to_owned(), place)),
            None => drop(map.remove(uid)),
        }
    }
    /// Changes whenever a pod's log grows.
    pub(crate) fn log_grew(&self, uid: &str) -> watch::Receiver<u64> {
        let mut map = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        map.entry(uid.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
    fn tell_log(&self, uid: &str) {
        let map = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tx) = map.get(uid) {
            tx.send_modify(|n| *n += 1);
        }
    }
    /// An address no other pod has; `had` is kept where it can be.
    pub(crate) fn address(&self, had: Option<&str>) -> String {
        let mut a = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(had) = had {
            a.used.insert(had.to_owned());
            return had.to_owned();
        }
        loop {
            let ip = Ipv4Addr::from(FIRST + a.next % COUNT).to_string();
            a.next = a.next.wrapping_add(1);
            if !ip.ends_with(".0") && !ip.ends_with(".255") && a.used.insert(ip.clone()) {
                return ip;
            }
        }
    }
    fn release_address(&self, ip: &str) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).used.remove(ip);
    }
    fn forget(&self, uid: &str) {
        self.set_running(uid, None);
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
    /// The node dies with its processes.
    pub(crate) fn fail(&self, node: &str) {
        self.failed.send_modify(|f| {
            f.insert(node.to_owned());
        });
    }
    pub(crate) fn recover(&self, node: &str) {
        self.failed.send_modify(|f| {
            f.remove(node);
        });
    }
    pub(crate) fn has_failed(&self, node: &str) -> bool {
        self.failed.borrow().contains(node)
    }
    /// Follows which nodes are failed.
    pub(crate) fn failures(&self) -> watch::Receiver<HashSet<String>> {
        self.failed.subscribe()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Real,
    Fake,
}

/// Real nodes come from the configuration; a node made through the API is fake when its annotation says so, and
/// has no agent at all otherwise.
fn kind_of(hub: &Hub, node: &str) -> Option<Kind> {
    if let Some(config) = hub.config.nodes.iter().find(|n| n.name == node) {
        return Some(if config.fake { Kind::Fake } else { Kind::Real });
    }
    let node = hub.store.lock().get("nodes", "", node)?;
    (node.value["metadata"]["annotations"]["devcluster.atelier.dev/fake"] == "true").then_some(Kind::Fake)
}

/// Sees every pod that is bound to a node and makes it run, or end.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut workers: HashMap<String, watch::Sender<Arc<Object>>> = HashMap::new();
    let mut tasks = tokio::task::JoinSet::new();
    let mut failures = hub.nodes.failures();
    'anew: loop {
        let (pods, mut feed) = hub.store.subscribe("pods");
        for pod in &pods {
            if let Some(ip) = pod.value["status"]["podIP"].as_str() {
                hub.nodes.address(Some(ip));
            }
        }
        for pod in pods {
            see(&hub, &pod, &mut workers, &mut tasks);
        }
        loop {
            tokio::select! {
                () = hub.stop.cancelled() => break 'anew,
                Some(ended) = tasks.join_next(), if !tasks.is_empty() => {
                    let Ok((uid, again)) = ended else { continue };
                    workers.remove(&uid);
                    // its node may be back before its worker had ended
                    let pod = hub.store.lock().by_uid(&uid).filter(|_| again);
                    let pod = pod.and_then(|(kind, key)| hub.store.lock().get(&kind, &key.0, &key.1));
                    if let Some(pod) = pod {
                        see(&hub, &pod, &mut workers, &mut tasks);
                    }
                }
                changed = failures.changed() => {
                    if changed.is_err() { break 'anew }
                    // pods of a node that came back are looked at again
                    continue 'anew;
                }
                changes = feed.next() => match changes {
                    Ok(changes) => changes.iter().for_each(|c| change(&hub, c, &mut workers, &mut tasks)),
                    Err(_) => continue 'anew,
                },
            }
        }
    }
    drop(workers);
    while tasks.join_next().await.is_some() {}
}

/// A worker's end: whose, and whether the pod is to be looked at again.
type Tasks = tokio::task::JoinSet<(String, bool)>;
type Workers = HashMap<String, watch::Sender<Arc<Object>>>;

fn change(hub: &Arc<Hub>, change: &Change, workers: &mut Workers, tasks: &mut Tasks) {
    if change.op == Op::Deleted {
        // forced deletion: the worker ends the process when its feed closes
        if workers.remove(change.object.uid()).is_none() {
            cleanup(hub, &change.object);
        }
        return;
    }
    see(hub, &change.object, workers, tasks);
}

fn see(hub: &Arc<Hub>, pod: &Arc<Object>, workers: &mut Workers, tasks: &mut Tasks) {
    let Some(node) = pod.value["spec"]["nodeName"].as_str() else { return };
    if let Some(worker) = workers.get(pod.uid()) {
        worker.send_replace(pod.clone());
        return;
    }
    if hub.nodes.has_failed(node) {
        return;
    }
    match kind_of(hub, node) {
        Some(Kind::Fake) => fake(hub, pod),
        Some(Kind::Real) => {
            let (tx, rx) = watch::channel(pod.clone());
            let uid = pod.uid().to_owned();
            workers.insert(uid.clone(), tx);
            let hub = hub.clone();
            tasks.spawn(async move {
                let again = Box::pin(worker::run(&hub, rx)).await;
                (uid, again)
            });
        }
        None => {}
    }
}

/// What is left of a pod that is gone.
fn cleanup(hub: &Hub, pod: &Object) {
    if let Some(ip) = pod.value["status"]["podIP"].as_str() {
        hub.nodes.release_address(ip);
    }
    hub.nodes.forget(pod.uid());
    let home = hub.nodes.pod_dir(pod.uid());
    if home.exists()
        && let Err(error) = std::fs::remove_dir_all(&home)
    {
        tracing::warn!(%error, "pod folder not removed");
    }
}

/// Removes a pod that has ended from the API.
fn remove(hub: &Hub, pod: &Object) {
    let resource = hub.kind("pods");
    let w = Write::internal(&resource, pod.namespace(), pod.name(), "kubelet");
    let options = delete::Options {
        grace_period_seconds: Some(0),
        preconditions: Some(delete::Preconditions {
            uid: Some(pod.uid().to_owned()),
            resource_version: None,
        }),
        ..delete::Options::default()
    };
    match delete::delete(hub, &mut hub.store.lock(), &w, &options) {
        Ok(_) => {}
        Err(e) if matches!(e.code, 404 | 409) => {}
        Err(error) => tracing::error!(%error, pod = pod.name(), "pod not removed"),
    }
}

/// A pod of a fake node: Running and Ready at once, unless its annotations want otherwise.
fn fake(hub: &Hub, pod: &Arc<Object>) {
    if pod.terminating() {
        if pod.value["metadata"]["deletionGracePeriodSeconds"].as_i64() != Some(0) {
            remove(hub, pod);
        }
        return;
    }
    if pod.value["status"]["phase"] != "Pending" || pod.value["status"]["containerStatuses"].is_array() {
        return;
    }
    let knob = |name: &str| {
        pod.value["metadata"]["annotations"][format!("devcluster.atelier.dev/{name}")]
            .as_str()
            .filter(|v| *v != "false")
    };
    let ip = hub.nodes.address(None);
    let container = &pod.value["spec"]["containers"][0];
    let name = container["name"].as_str().unwrap_or("").to_owned();
    let image = container["image"].clone();
    let time = now();
    let result = status::update(hub, pod, "kubelet", |s| {
        s["podIP"] = ip.clone().into();
        s["podIPs"] = json!([{ "ip": ip }]);
        s["hostIP"] = "127.0.0.1".into();
        s["startTime"] = time.clone().into();
        let ready = knob("never-ready").is_none()
            && knob("fail-start").is_none()
            && knob("image-pull-fails").is_none();
        let mut phase = "Running";
        let state = if knob("image-pull-fails").is_some() {
            phase = "Pending";
            json!({ "waiting": { "reason": "ImagePullBackOff", "message": format!("Back-off pulling image {image}") } })
        } else if let Some(message) = knob("fail-start") {
            phase = "Failed";
            json!({ "terminated": { "exitCode": 1, "reason": "Error", "message": message, "startedAt": time, "finishedAt": time } })
        } else {
            json!({ "running": { "startedAt": time } })
        };
        s["phase"] = phase.into();
        s["containerStatuses"] = json!([{
            "name": name, "image": image, "imageID": "", "ready": ready, "started": ready, "restartCount": 0, "state": state, "lastState": {},
        }]);
        status::set_ready(s, &name, ready, false);
    });
    if let Err(error) = result {
        hub.nodes.release_address(&ip);
        tracing::debug!(%error, "fake pod is gone");
    }
}
