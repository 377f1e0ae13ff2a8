//! Watches: one task per kind puts what it observes into the cache and enqueues the objects that this concerns. A
//! failed watch lists again; what is missing from the new list is dropped from the cache.

use std::collections::HashSet;
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use crds::{GpuStorage, GpuUnit, names};
use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ResourceQuota, ServiceAccount,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt as _};
use plans::observation::{
    DraSupport, ObservedMirror, ObservedNode, ObservedRuntimeClass, ObservedVolumeClaim,
};
use plans::tenant;
use plans::unit::meta::short_hash;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use service::{Duty, Task, panic_message};
use tokio::sync::watch;

use super::cache::{Applied, Cache, Key};
use super::metrics::Metrics;
use super::queue::Queue;

/// First pause before a new list.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// Longest pause before a new list: an API server that is back is heard from within this time.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Pause before the cluster is asked again whether it serves resource claims.
const DRA_PAUSE: Duration = Duration::from_secs(300);

/// First pause before the operator asks again for what it is not allowed to read. It doubles up to [`DRA_PAUSE`].
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(10);

/// Which watches have had their first complete list. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Synced(Arc<Mutex<Vec<watch::Receiver<bool>>>>);

impl Synced {
    fn add(&self) -> watch::Sender<bool> {
        let (sender, receiver) = watch::channel(false);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(receiver);
        sender
    }

    fn receivers(&self) -> Vec<watch::Receiver<bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn is_complete(&self) -> bool {
        let watches = self.receivers();
        !watches.is_empty() && watches.iter().all(|synced| *synced.borrow())
    }

    /// Waits for the first complete list of every watch.
    pub(crate) async fn wait(&self) -> anyhow::Result<()> {
        for mut synced in self.receivers() {
            synced.wait_for(|synced| *synced).await?;
        }
        Ok(())
    }
}

/// What all watches share.
#[derive(Clone)]
pub(crate) struct Watches {
    pub(crate) client: Client,
    pub(crate) cache: Cache,
    pub(crate) queue: Arc<Queue<Key>>,
    pub(crate) metrics: Metrics,
    pub(crate) clock: fn() -> jiff::Timestamp,
    pub(crate) synced: Synced,
}

/// A change of one kind.
enum Change<'a, K> {
    Put(K),
    Drop(&'a K),
    /// The complete list was read; these are the identities of its objects.
    Retain(&'a HashSet<String>),
}

/// Whether every cluster serves the kind and the operator must be able to read it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    /// Only units with claimed devices need it. The operator works without it where the cluster does not serve
    /// resource claims or the operator may not read them.
    ForDra,
}

impl Watches {
    /// One task for each kind.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        self.cache.begin((self.clock)());
        vec![
            self.watch_units(),
            self.watch_pods(),
            self.watch_nodes(),
            self.watch_runtime_classes(),
            self.watch_storages(),
            self.watch_volume_claims(),
            self.watch_resource_claims(),
            self.watch_mirrors(),
            self.watch_applied::<Namespace>(),
            self.watch_applied::<ServiceAccount>(),
            self.watch_applied::<NetworkPolicy>(),
            self.watch_applied::<ResourceQuota>(),
        ]
    }

    fn watch_units(&self) -> Task {
        let cache = self.cache.clone();
        self.task::<GpuUnit>(watcher::Config::default(), Need::Required, move |change| match change {
            Change::Put(unit) => cache.put_unit(unit),
            Change::Drop(unit) => cache.drop_unit(&unit.name_any(), unit.uid().as_deref()),
            Change::Retain(seen) => cache.retain_units(seen),
        })
    }

    fn watch_pods(&self) -> Task {
        let (cache, clock) = (self.cache.clone(), self.clock);
        let ours = watcher::Config::default().labels(names::LABEL_ROLE);
        self.task::<Pod>(ours, Need::Required, move |change| match change {
            Change::Put(pod) => [cache.put_pod(&pod), cache.put_download(&pod)].concat(),
            Change::Drop(pod) => [cache.drop_pod(pod, clock()), cache.drop_download(pod)].concat(),
            Change::Retain(seen) => [cache.retain_pods(seen, clock()), cache.retain_downloads(seen)].concat(),
        })
    }

    fn watch_nodes(&self) -> Task {
        let cache = self.cache.clone();
        self.task::<Node>(watcher::Config::default(), Need::Required, move |change| match change {
            Change::Put(node) => cache.put_node(&node.name_any(), Some(ObservedNode::of(&node))),
            Change::Drop(node) => cache.put_node(&node.name_any(), None),
            Change::Retain(seen) => missing(cache.node_names(), seen, |name| cache.put_node(name, None)),
        })
    }

    fn watch_runtime_classes(&self) -> Task {
        let cache = self.cache.clone();
        self.task::<RuntimeClass>(watcher::Config::default(), Need::Required, move |change| match change {
            Change::Put(class) => {
                cache.put_runtime_class(&class.name_any(), Some(ObservedRuntimeClass::of(&class)))
            }
            Change::Drop(class) => cache.put_runtime_class(&class.name_any(), None),
            Change::Retain(seen) => {
                missing(cache.runtime_class_names(), seen, |name| cache.put_runtime_class(name, None))
            }
        })
    }

    fn watch_storages(&self) -> Task {
        let cache = self.cache.clone();
        self.task::<GpuStorage>(watcher::Config::default(), Need::Required, move |change| match change {
            Change::Put(storage) => cache.put_storage(storage),
            Change::Drop(storage) => cache.drop_storage(&storage.name_any()),
            Change::Retain(seen) => missing(cache.storage_names(), seen, |name| cache.drop_storage(name)),
        })
    }

    fn watch_volume_claims(&self) -> Task {
        let cache = self.cache.clone();
        let of_storages = watcher::Config::default().labels(names::LABEL_STORAGE);
        self.task::<PersistentVolumeClaim>(of_storages, Need::Required, move |change| match change {
            Change::Put(claim) => ObservedVolumeClaim::of(&claim)
                .map_or_else(Vec::new, |(name, observed)| cache.put_volume_claim(&name, Some(observed))),
            Change::Drop(claim) => ObservedVolumeClaim::of(claim)
                .map_or_else(Vec::new, |(name, _)| cache.put_volume_claim(&name, None)),
            Change::Retain(seen) => {
                missing(cache.volume_claim_names(), seen, |name| cache.put_volume_claim(name, None))
            }
        })
    }

    fn watch_resource_claims(&self) -> Task {
        let cache = self.cache.clone();
        let of_units = watcher::Config::default().labels(names::LABEL_UNIT);
        self.task::<ResourceClaim>(of_units, Need::ForDra, move |change| match change {
            Change::Put(claim) => cache.put_device_claim(&claim),
            Change::Drop(claim) => claim.labels().get(names::LABEL_UNIT).map_or_else(Vec::new, |unit| {
                cache.drop_device_claim(unit, &claim.uid().unwrap_or_default())
            }),
            Change::Retain(seen) => cache.retain_device_claims(seen),
        })
    }

    fn watch_mirrors(&self) -> Task {
        let cache = self.cache.clone();
        let of_units = watcher::Config::default().labels(names::LABEL_UNIT);
        self.task::<PersistentVolume>(of_units, Need::ForDra, move |change| match change {
            Change::Put(volume) => {
                ObservedMirror::of(&volume).map_or_else(Vec::new, |mirror| cache.put_mirror(mirror))
            }
            Change::Drop(volume) => volume
                .labels()
                .get(names::LABEL_UNIT)
                .map_or_else(Vec::new, |unit| cache.drop_mirror(unit, &volume.name_any())),
            Change::Retain(seen) => cache.retain_mirrors(seen),
        })
    }

    /// Watches a kind of object that the operator applies to namespaces of instances.
    fn watch_applied<K>(&self) -> Task
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Debug + Send + 'static,
    {
        let cache = self.cache.clone();
        let kind = K::kind(&());
        let ours = format!("app.kubernetes.io/managed-by={}", names::MANAGER_OPERATOR);
        let location = move |object: &K| {
            let namespace = object.namespace().unwrap_or_else(|| object.name_any());
            (namespace, format!("{kind}/{}", object.name_any()))
        };
        let config = watcher::Config::default().labels(&ours);
        self.task::<K>(config, Need::Required, move |change| match change {
            Change::Put(object) => {
                let (namespace, name) = location(&object);
                let seen = (object.meta().deletion_timestamp.is_none()).then(|| applied(&object));
                cache.put_applied(&namespace, &name, seen, false)
            }
            Change::Drop(object) => {
                let (namespace, name) = location(object);
                cache.put_applied(&namespace, &name, None, false)
            }
            Change::Retain(seen) => {
                let known = cache.applied_names(&format!("{}/", K::kind(&())));
                let gone = known.into_iter().filter(|(namespace, object)| {
                    let name = object.split_once('/').map_or("", |(_, name)| name);
                    !seen.contains(name) && !seen.contains(&format!("{namespace}/{name}"))
                });
                gone.flat_map(|(namespace, object)| cache.put_applied(&namespace, &object, None, false))
                    .collect()
            }
        })
    }

    /// The task of one kind. `observe` puts a change into the cache and returns the objects it concerns.
    fn task<K>(
        &self,
        config: watcher::Config,
        need: Need,
        observe: impl Fn(Change<'_, K>) -> Vec<Key> + Send + Sync + 'static,
    ) -> Task
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let watch =
            Arc::new(KindWatch { shared: self.clone(), config, need, synced: self.synced.add(), observe });
        Task::new(K::plural(&()), Duty::Follow, &watch, |watch| async move {
            watch.run::<K>().await;
            Ok(())
        })
    }
}

/// The observations of the names that are missing from a complete list.
fn missing(known: Vec<String>, seen: &HashSet<String>, drop: impl Fn(&str) -> Vec<Key>) -> Vec<Key> {
    known.into_iter().filter(|name| !seen.contains(name)).flat_map(|name| drop(&name)).collect()
}

/// The pauses after failures in a row.
fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(PAUSE_MIN)
        .with_max_delay(PAUSE_MAX)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

/// The watch of one kind.
struct KindWatch<F> {
    shared: Watches,
    config: watcher::Config,
    need: Need,
    synced: watch::Sender<bool>,
    observe: F,
}

impl<F> KindWatch<F> {
    /// Lists and watches until dropped.
    async fn run<K>(&self)
    where
        F: Fn(Change<'_, K>) -> Vec<Key>,
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        if self.need == Need::ForDra {
            self.wait_until_served::<K>().await;
        }
        let mut pauses = pauses();
        loop {
            if self.need == Need::ForDra {
                self.wait_until_allowed::<K>().await;
            }
            let is_complete = self.list_and_watch::<K>().await;
            // places are compared anew before anything is decided by what may be old
            self.shared.cache.put_watched(&K::kind(&()), None);
            if is_complete {
                pauses = self::pauses();
            }
            tokio::time::sleep(pauses.next().unwrap_or(PAUSE_MAX)).await;
        }
    }

    /// Waits until the cluster serves resource claims.
    async fn wait_until_served<K: Resource<DynamicType = ()>>(&self) {
        loop {
            let version = ResourceClaim::api_version(&());
            match self.shared.client.list_api_group_resources(&version).await {
                Ok(_) => return,
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.put_dra::<K>(DraSupport::NotServed);
                    self.synced.send_replace(true);
                    tokio::time::sleep(DRA_PAUSE).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "discovery failed, retrying");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Waits until the operator may read the kind. A watch would report each refusal.
    async fn wait_until_allowed<K>(&self)
    where
        F: Fn(Change<'_, K>) -> Vec<Key>,
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let api: Api<K> = Api::all(self.shared.client.clone());
        let one = ListParams {
            limit: Some(1),
            label_selector: self.config.label_selector.clone(),
            ..ListParams::default()
        };
        let mut pause = FORBIDDEN_PAUSE;
        loop {
            match api.list_metadata(&one).await {
                Err(kube::Error::Api(status)) if status.code == 403 => {}
                // other errors are the watch's
                _ => return,
            }
            if pause == FORBIDDEN_PAUSE {
                let kind = K::kind(&());
                tracing::info!(%kind, "not allowed to read this kind, which only units with claimed devices need");
            }
            self.put_dra::<K>(DraSupport::Forbidden);
            self.synced.send_replace(true);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(DRA_PAUSE);
        }
    }

    /// Lists and watches until the first error: what happened meanwhile is only known from another list. Returns whether
    /// the list was complete.
    async fn list_and_watch<K>(&self) -> bool
    where
        F: Fn(Change<'_, K>) -> Vec<Key>,
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let api: Api<K> = Api::all(self.shared.client.clone());
        let kind = K::kind(&());
        let mut seen = HashSet::new();
        let mut is_complete = false;
        let stream = watcher(api, self.config.clone());
        pin_mut!(stream);
        while let Some(event) = stream.next().await {
            match event {
                Ok(watcher::Event::Init) => seen.clear(),
                Ok(watcher::Event::InitApply(object)) => {
                    seen.insert(identity(&object));
                    self.observe(Change::Put(object));
                }
                Ok(watcher::Event::InitDone) => {
                    self.observe(Change::Retain(&seen));
                    seen = HashSet::new();
                    is_complete = true;
                    self.shared.cache.put_watched(&kind, Some((self.shared.clock)()));
                    if self.need == Need::ForDra {
                        self.put_dra::<K>(DraSupport::Served);
                    }
                    self.synced.send_replace(true);
                }
                Ok(watcher::Event::Apply(object)) => self.observe(Change::Put(object)),
                Ok(watcher::Event::Delete(object)) => self.observe(Change::Drop(&object)),
                Err(error) => {
                    self.shared.metrics.watch_failed(&kind);
                    if self.need == Need::ForDra && is_forbidden(&error) {
                        // the right was taken away
                        self.put_dra::<K>(DraSupport::Forbidden);
                        self.synced.send_replace(true);
                    } else {
                        tracing::warn!(%kind, %error, "watch failed, listing again");
                    }
                    return is_complete;
                }
            }
        }
        is_complete
    }

    /// Puts one change into the cache. A panic skips this change and does not stop the watch of other objects.
    fn observe<K>(&self, change: Change<'_, K>)
    where
        F: Fn(Change<'_, K>) -> Vec<Key>,
        K: Resource<DynamicType = ()>,
    {
        match std::panic::catch_unwind(AssertUnwindSafe(|| (self.observe)(change))) {
            Ok(keys) => self.enqueue(keys),
            Err(panic) => {
                let kind = K::kind(&());
                self.shared.metrics.watch_failed(&kind);
                tracing::error!(%kind, cause = panic_message(&*panic), "observation panicked");
            }
        }
    }

    fn put_dra<K: Resource<DynamicType = ()>>(&self, dra: DraSupport) {
        self.enqueue(self.shared.cache.put_dra(&K::kind(&()), dra));
    }

    fn enqueue(&self, keys: Vec<Key>) {
        for key in keys {
            self.shared.queue.add(key);
        }
    }
}

fn is_forbidden(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(error)
    | watcher::Error::WatchStartFailed(error)
    | watcher::Error::WatchFailed(error)) = error
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// Identity of an object in a list of its kind: the UID of pods and resource claims, the namespace and name of policies
/// and quotas, the name of others.
fn identity<K: Resource<DynamicType = ()>>(object: &K) -> String {
    match K::kind(&()).as_ref() {
        "Pod" | "ResourceClaim" => object.uid().unwrap_or_default(),
        "ServiceAccount" | "NetworkPolicy" | "ResourceQuota" => {
            format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
        }
        _ => object.name_any(),
    }
}

/// The cached values of an applied object.
pub(crate) fn applied<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Applied {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    let body = [value["spec"].take(), value["automountServiceAccountToken"].take()];
    let content = json!([object.labels(), object.annotations(), body]);
    Applied {
        content: short_hash(content.to_string().as_bytes()),
        hash: object.annotations().get(tenant::ANNOTATION_APPLIED).cloned().unwrap_or_default(),
        version: object.resource_version().unwrap_or_default(),
        tampered: false,
        root_inside: object.labels().get(tenant::LABEL_ENFORCE).is_some_and(|level| level == "baseline"),
    }
}
