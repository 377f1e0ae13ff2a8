//! Watches: one stream per kind into the cache, and from there keys into the queue. An expired or broken
//! watch lists again; what is missing from the new list is forgotten.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crds::{GpuStorage, GpuUnit, names};
use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ResourceQuota,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::cache::{Applied, Cache, Key};
use super::metrics::Metrics;
use super::queue::Queue;
use crate::tenant;
use crate::view::{ClaimView, Dra, MirrorView, NodeView};

/// Pause before listing again because a version had expired.
const RELIST_PAUSE: Duration = Duration::from_millis(100);

/// Pause before asking again whether the cluster serves claims on devices.
const DRA_PAUSE: Duration = Duration::from_secs(300);

/// Pause before asking again for what the operator may not read.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(10);

/// What all watches share.
#[derive(Clone)]
pub(crate) struct Watches {
    pub(crate) client: Client,
    pub(crate) cache: Cache,
    pub(crate) queue: Arc<Queue<Key>>,
    pub(crate) metrics: Metrics,
    pub(crate) clock: fn() -> jiff::Timestamp,
}

/// A change of one kind.
enum Change<'a, K> {
    Put(K),
    Drop(&'a K),
    /// The complete list is in; these are the names (or UIDs, for pods) it held.
    Kept(&'a HashSet<String>),
}

impl Watches {
    /// Starts every watch on `tasks`; gives what tells when each has its first complete list.
    pub(crate) fn start(&self, tasks: &mut tokio::task::JoinSet<()>) -> Vec<watch::Receiver<bool>> {
        self.cache.begin((self.clock)());
        let ours = format!("app.kubernetes.io/managed-by={}", names::MANAGER_OPERATOR);
        let mut synced = Vec::new();
        let this = self.clone();
        self.spawn::<GpuUnit>(tasks, &mut synced, watcher::Config::default(), move |change| match change {
            Change::Put(unit) => this.cache.put_unit(unit),
            Change::Drop(unit) => this.cache.drop_unit(&unit.name_any(), unit.uid().as_deref()),
            Change::Kept(seen) => this.cache.keep_units(seen),
        });
        let this = self.clone();
        let pods = watcher::Config::default().labels(names::LABEL_ROLE);
        self.spawn::<Pod>(tasks, &mut synced, pods, move |change| match change {
            Change::Put(pod) => this.cache.put_pod(&pod),
            Change::Drop(pod) => this.cache.drop_pod(pod, (this.clock)()),
            Change::Kept(seen) => this.cache.keep_pods(seen, (this.clock)()),
        });
        let this = self.clone();
        self.spawn::<Node>(tasks, &mut synced, watcher::Config::default(), move |change| match change {
            Change::Put(node) => this.cache.put_node(&node.name_any(), Some(NodeView::of(&node))),
            Change::Drop(node) => this.cache.put_node(&node.name_any(), None),
            Change::Kept(seen) => {
                let lost = this.cache.node_names().into_iter().filter(|name| !seen.contains(name));
                lost.flat_map(|name| this.cache.put_node(&name, None)).collect()
            }
        });
        let this = self.clone();
        self.spawn::<GpuStorage>(
            tasks,
            &mut synced,
            watcher::Config::default(),
            move |change| match change {
                Change::Put(storage) => this.cache.put_storage(storage),
                Change::Drop(storage) => this.cache.drop_storage(&storage.name_any()),
                Change::Kept(seen) => {
                    let lost = this.cache.storage_names().into_iter().filter(|name| !seen.contains(name));
                    lost.flat_map(|name| this.cache.drop_storage(&name)).collect()
                }
            },
        );
        let this = self.clone();
        let claims = watcher::Config::default().labels(names::LABEL_STORAGE);
        self.spawn::<PersistentVolumeClaim>(tasks, &mut synced, claims, move |change| match change {
            Change::Put(claim) => ClaimView::of(&claim)
                .map_or_else(Vec::new, |(name, view)| this.cache.put_claim(&name, Some(view))),
            Change::Drop(claim) => {
                ClaimView::of(claim).map_or_else(Vec::new, |(name, _)| this.cache.put_claim(&name, None))
            }
            Change::Kept(seen) => {
                let lost = this.cache.claim_names().into_iter().filter(|name| !seen.contains(name));
                lost.flat_map(|name| this.cache.put_claim(&name, None)).collect()
            }
        });
        let this = self.clone();
        let of_units = watcher::Config::default().labels(names::LABEL_UNIT);
        self.spawn_for_dra::<ResourceClaim>(
            tasks,
            &mut synced,
            of_units.clone(),
            move |change| match change {
                Change::Put(claim) => this.cache.put_device_claim(&claim),
                Change::Drop(claim) => claim.labels().get(names::LABEL_UNIT).map_or_else(Vec::new, |unit| {
                    this.cache.drop_device_claim(unit, &claim.uid().unwrap_or_default())
                }),
                Change::Kept(seen) => this.cache.keep_device_claims(seen),
            },
        );
        let this = self.clone();
        self.spawn_for_dra::<PersistentVolume>(tasks, &mut synced, of_units, move |change| match change {
            Change::Put(volume) => {
                MirrorView::of(&volume).map_or_else(Vec::new, |mirror| this.cache.put_mirror(mirror))
            }
            Change::Drop(volume) => volume
                .labels()
                .get(names::LABEL_UNIT)
                .map_or_else(Vec::new, |unit| this.cache.drop_mirror(unit, &volume.name_any())),
            Change::Kept(seen) => this.cache.keep_mirrors(seen),
        });
        self.objects::<Namespace>(tasks, &mut synced, watcher::Config::default().labels(&ours));
        self.objects::<NetworkPolicy>(tasks, &mut synced, watcher::Config::default().labels(&ours));
        self.objects::<ResourceQuota>(tasks, &mut synced, watcher::Config::default().labels(&ours));
        synced
    }

    /// Watches one kind of the objects that make up a namespace with instances.
    fn objects<K>(
        &self,
        tasks: &mut tokio::task::JoinSet<()>,
        synced: &mut Vec<watch::Receiver<bool>>,
        config: watcher::Config,
    ) where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let this = self.clone();
        let kind = K::kind(&()).into_owned();
        let place = move |object: &K| {
            let namespace = object.namespace().unwrap_or_else(|| object.name_any());
            (namespace, format!("{kind}/{}", object.name_any()))
        };
        self.spawn::<K>(tasks, synced, config, move |change| match change {
            Change::Put(object) => {
                let (namespace, name) = place(&object);
                let seen = (object.meta().deletion_timestamp.is_none()).then(|| applied(&object));
                this.cache.put_applied(&namespace, &name, seen, false)
            }
            Change::Drop(object) => {
                let (namespace, name) = place(object);
                this.cache.put_applied(&namespace, &name, None, false)
            }
            Change::Kept(seen) => {
                let known = this.cache.applied_names(&format!("{}/", K::kind(&())));
                let lost = known.into_iter().filter(|(namespace, object)| {
                    let name = object.split_once('/').map_or("", |(_, name)| name);
                    !seen.contains(name) && !seen.contains(&format!("{namespace}/{name}"))
                });
                lost.flat_map(|(namespace, object)| this.cache.put_applied(&namespace, &object, None, false))
                    .collect()
            }
        });
    }

    fn spawn<K>(
        &self,
        tasks: &mut tokio::task::JoinSet<()>,
        synced: &mut Vec<watch::Receiver<bool>>,
        config: watcher::Config,
        take: impl FnMut(Change<'_, K>) -> Vec<Key> + Send + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let (tell, told) = watch::channel(false);
        synced.push(told);
        let this = self.clone();
        tasks.spawn(async move { this.follow(config, &tell, false, take).await });
    }

    /// Watches a kind that only units with claimed devices need: nobody waits for it where the cluster does
    /// not serve claims or the operator may not read it.
    fn spawn_for_dra<K>(
        &self,
        tasks: &mut tokio::task::JoinSet<()>,
        synced: &mut Vec<watch::Receiver<bool>>,
        config: watcher::Config,
        take: impl FnMut(Change<'_, K>) -> Vec<Key> + Send + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let (tell, told) = watch::channel(false);
        synced.push(told);
        let this = self.clone();
        tasks.spawn(async move {
            loop {
                let version = ResourceClaim::api_version(&());
                match this.client.list_api_group_resources(&version).await {
                    Ok(_) => break,
                    Err(kube::Error::Api(status)) if status.code == 404 => {
                        this.put_dra::<K>(Dra::NotServed);
                        tell.send_replace(true);
                        tokio::time::sleep(DRA_PAUSE).await;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "discovery failed, trying again");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
            this.follow(config, &tell, true, take).await;
        });
    }

    fn put_dra<K: Resource<DynamicType = ()>>(&self, dra: Dra) {
        self.add(self.cache.put_dra(&K::kind(&()), dra));
    }

    fn add(&self, keys: Vec<Key>) {
        for key in keys {
            self.queue.add(key);
        }
    }

    async fn follow<K>(
        &self,
        config: watcher::Config,
        tell: &watch::Sender<bool>,
        for_dra: bool,
        mut take: impl FnMut(Change<'_, K>) -> Vec<Key>,
    ) where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let kind = K::kind(&());
        let mut seen = HashSet::new();
        loop {
            let mut pause = RELIST_PAUSE;
            let stream = watcher(api.clone(), config.clone()).default_backoff();
            pin_mut!(stream);
            while let Some(event) = stream.next().await {
                let keys = match event {
                    Ok(watcher::Event::Init) => {
                        seen.clear();
                        Vec::new()
                    }
                    Ok(watcher::Event::InitApply(object)) => {
                        seen.insert(identity(&object));
                        take(Change::Put(object))
                    }
                    Ok(watcher::Event::InitDone) => {
                        let keys = take(Change::Kept(&seen));
                        seen = HashSet::new();
                        if for_dra {
                            self.put_dra::<K>(Dra::Served);
                        }
                        tell.send_replace(true);
                        keys
                    }
                    Ok(watcher::Event::Apply(object)) => take(Change::Put(object)),
                    Ok(watcher::Event::Delete(object)) => take(Change::Drop(&object)),
                    Err(error) => {
                        self.metrics.watch_failed(&kind);
                        if for_dra && is_forbidden(&error) {
                            self.put_dra::<K>(Dra::Forbidden);
                            tell.send_replace(true);
                            pause = FORBIDDEN_PAUSE;
                            break;
                        }
                        tracing::warn!(%kind, %error, "watch failed, trying again");
                        // told by status and not by an event, the watcher would ask for the same
                        // expired version for ever
                        if is_expired(&error) {
                            break;
                        }
                        Vec::new()
                    }
                };
                self.add(keys);
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// The version that a watch would go on from is too old.
fn is_expired(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410)
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

/// What tells one object of a kind from another in a list: the UID of a pod or a claim on devices, the name (with its namespace,
/// where names repeat) of others.
fn identity<K: Resource<DynamicType = ()>>(object: &K) -> String {
    match K::kind(&()).as_ref() {
        "Pod" | "ResourceClaim" => object.uid().unwrap_or_default(),
        "NetworkPolicy" | "ResourceQuota" => {
            format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
        }
        _ => object.name_any(),
    }
}

/// What the cache remembers of an applied object.
pub(crate) fn applied<K: Resource<DynamicType = ()>>(object: &K) -> Applied {
    Applied {
        hash: object.annotations().get(tenant::ANNOTATION_APPLIED).cloned().unwrap_or_default(),
        version: object.resource_version().unwrap_or_default(),
        tampered: false,
        root_inside: object.labels().get(tenant::LABEL_ENFORCE).is_some_and(|level| level == "baseline"),
    }
}
