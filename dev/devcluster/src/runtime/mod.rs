//! The container runtime: processes, folders, logs and addresses of pods. Knows nothing of the API.

mod addresses;
pub(crate) mod alive;
pub(crate) mod process;
pub(crate) mod reaper;
pub(crate) mod usage;

use addresses::Addresses;
use alive::Alive;
use process::Spawner;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The working directory and environment of a running container, for `exec`.
#[derive(Clone)]
pub(crate) struct Sandbox {
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
}

pub(crate) struct Runtime {
    data: PathBuf,
    pub spawner: Arc<Spawner>,
    pub addresses: Addresses,
    pub alive: Alive,
    running: Mutex<HashMap<String, Sandbox>>,
    logs: Mutex<HashMap<String, watch::Sender<u64>>>,
    failed: watch::Sender<HashSet<String>>,
}

impl Runtime {
    /// Kills the processes that a killed predecessor left behind, and starts the spawning thread.
    pub(crate) fn new(data: PathBuf) -> anyhow::Result<Self> {
        reaper::reap(&data.join("pods"));
        Ok(Self {
            alive: Alive::new(&data),
            data,
            spawner: Arc::new(Spawner::start()?),
            addresses: Addresses::default(),
            running: Mutex::default(),
            logs: Mutex::default(),
            failed: watch::Sender::default(),
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
    pub(crate) fn running(&self, uid: &str) -> Option<Sandbox> {
        lock(&self.running).get(uid).cloned()
    }

    pub(crate) fn set_running(&self, uid: &str, sandbox: Option<Sandbox>) {
        match sandbox {
            Some(sandbox) => lock(&self.running).insert(uid.to_owned(), sandbox),
            None => lock(&self.running).remove(uid),
        };
    }

    /// Changes whenever the pod's log grows.
    pub(crate) fn follow_log(&self, uid: &str) -> watch::Receiver<u64> {
        lock(&self.logs).entry(uid.to_owned()).or_default().subscribe()
    }

    pub(crate) fn log_grew(&self, uid: &str) {
        if let Some(size) = lock(&self.logs).get(uid) {
            size.send_modify(|n| *n += 1);
        }
    }

    /// Removes everything that belongs to a pod.
    pub(crate) fn forget(&self, uid: &str, address: Option<&str>) {
        if let Some(address) = address {
            self.addresses.release(address);
        }
        self.set_running(uid, None);
        lock(&self.logs).remove(uid);
        let folder = self.pod_dir(uid);
        if folder.exists()
            && let Err(error) = std::fs::remove_dir_all(&folder)
        {
            tracing::warn!(%error, pod.uid = uid, "cannot remove pod folder");
        }
    }

    /// Fails or recovers a node.
    pub(crate) fn set_failed(&self, node: &str, failed: bool) {
        self.failed.send_modify(|all| {
            if failed {
                all.insert(node.to_owned());
            } else {
                all.remove(node);
            }
        });
    }

    pub(crate) fn has_failed(&self, node: &str) -> bool {
        self.failed.borrow().contains(node)
    }

    /// Follows the set of failed nodes.
    pub(crate) fn failures(&self) -> watch::Receiver<HashSet<String>> {
        self.failed.subscribe()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
