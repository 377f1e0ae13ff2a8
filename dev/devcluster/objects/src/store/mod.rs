//! The objects of the cluster: in memory under one lock, with a window of recent changes per kind for watches, and a
//! journal for restarts. Knows nothing of the meaning of kinds; the rules are in `verbs` and `admission`.

mod feed;
mod journal;
pub mod selectors;

use crate::error::Failure;
use crate::json::{items, text};
use bytes::Bytes;
pub use feed::{Event, Feed};
use journal::Journal;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{mpsc, watch};

/// Number of changes of one kind that a watch may lag behind before it fails with 410.
const WINDOW: usize = 8192;

/// Namespace (empty for cluster-scoped kinds) and name.
pub type Key = (String, String);

/// One stored version of an object.
#[derive(Debug)]
pub struct Object {
    pub rv: u64,
    pub value: Value,
    json: OnceLock<Bytes>,
}

impl Object {
    /// An object that is not stored (dry run, last state).
    pub fn unstored(rv: u64, value: Value) -> Arc<Self> {
        Arc::new(Self { rv, value, json: OnceLock::new() })
    }
    /// The JSON text; computed once and shared by watches and lists.
    pub fn json(&self) -> Bytes {
        self.json.get_or_init(|| Bytes::from(self.value.to_string())).clone()
    }
    pub fn meta(&self, field: &str) -> &str {
        text(&self.value["metadata"][field])
    }
    pub fn name(&self) -> &str {
        self.meta("name")
    }
    pub fn namespace(&self) -> &str {
        self.meta("namespace")
    }
    pub fn uid(&self) -> &str {
        self.meta("uid")
    }
    pub fn key(&self) -> Key {
        (self.namespace().to_owned(), self.name().to_owned())
    }
    /// Whether deletion has begun.
    pub fn terminating(&self) -> bool {
        self.value["metadata"]["deletionTimestamp"].is_string()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Added,
    Modified,
    Deleted,
}

/// One change. The object of a deletion is its last state, with the resource version of the deletion.
#[derive(Debug)]
pub struct Change {
    pub rv: u64,
    pub op: Op,
    pub object: Arc<Object>,
    pub previous: Option<Arc<Object>>,
}

struct Table {
    objects: BTreeMap<Key, Arc<Object>>,
    window: VecDeque<Arc<Change>>,
    /// The window has no changes up to this version.
    forgotten: u64,
    latest: watch::Sender<u64>,
}

/// Work for the garbage collector.
#[derive(Debug)]
pub enum Upkeep {
    /// An object with dependents was removed.
    OwnerGone { uid: String },
    /// An object with owners or finalizers was written, or lost a dependent.
    Check { kind: String, key: Key },
}

pub struct Store {
    inner: Mutex<Inner>,
}

/// The state under the lock. A request holds the lock for all of its reads and writes, so that it is atomic.
pub struct Inner {
    rv: u64,
    /// The version at the start of the process; older watches cannot be resumed.
    base: u64,
    tables: HashMap<String, Table>,
    by_uid: HashMap<String, (String, Key)>,
    dependents: HashMap<String, HashSet<(String, Key)>>,
    journal: Option<Journal>,
    upkeep: mpsc::UnboundedSender<Upkeep>,
}

impl Store {
    /// Opens the store; with a path, reads the journal and writes to it.
    pub fn open(path: Option<&Path>) -> anyhow::Result<(Self, mpsc::UnboundedReceiver<Upkeep>)> {
        let (upkeep, receiver) = mpsc::unbounded_channel();
        let mut inner = Inner {
            rv: 1,
            base: 1,
            tables: HashMap::new(),
            by_uid: HashMap::new(),
            dependents: HashMap::new(),
            journal: None,
            upkeep,
        };
        if let Some(path) = path {
            let (rv, objects) = journal::read(path)?;
            inner.rv = rv.max(1);
            inner.base = inner.rv;
            for (kind, key, value) in objects {
                let rv =
                    value["metadata"]["resourceVersion"].as_str().and_then(|s| s.parse().ok()).unwrap_or(1);
                let object = Arc::new(Object { rv, value, json: OnceLock::new() });
                inner.index(&kind, &key, None, Some(&object));
                inner.table(&kind).objects.insert(key, object);
            }
            let mut journal = Journal::create(path, inner.rv, inner.snapshot())?;
            journal.forget_growth();
            inner.journal = Some(journal);
        }
        Ok((Self { inner: Mutex::new(inner) }, receiver))
    }

    /// Locks the state. Never held across an await.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the version of the latest change of a kind.
    pub fn follow(&self, kind: &str) -> watch::Receiver<u64> {
        self.lock().table(kind).latest.subscribe()
    }

    /// The objects of some kinds and their changes; see [`Feed`].
    pub fn feed(self: &Arc<Self>, kinds: &[&'static str]) -> Feed {
        Feed::new(self, kinds)
    }
}

impl Inner {
    fn table(&mut self, kind: &str) -> &mut Table {
        let base = self.base;
        self.tables.entry(kind.to_owned()).or_insert_with(|| Table {
            objects: BTreeMap::new(),
            window: VecDeque::new(),
            forgotten: base,
            latest: watch::Sender::new(base),
        })
    }

    /// The version of the latest change.
    pub fn rv(&self) -> u64 {
        self.rv
    }

    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.tables.get(kind)?.objects.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// Objects of a kind in key order; of all namespaces if `namespace` is empty.
    pub fn list<'a>(
        &'a self,
        kind: &str,
        namespace: &'a str,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let Some(table) = self.tables.get(kind) else { return Box::new(std::iter::empty()) };
        if namespace.is_empty() {
            return Box::new(table.objects.values());
        }
        let from = (namespace.to_owned(), String::new());
        Box::new(table.objects.range(from..).take_while(move |(k, _)| k.0 == namespace).map(|(_, o)| o))
    }

    /// Objects after a key (for `continue`).
    pub fn list_after<'a>(
        &'a self,
        kind: &str,
        after: Key,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        match self.tables.get(kind) {
            Some(table) => Box::new(table.objects.range((Excluded(after), Unbounded)).map(|(_, o)| o)),
            None => Box::new(std::iter::empty()),
        }
    }

    pub fn count(&self, kind: &str) -> usize {
        self.tables.get(kind).map_or(0, |t| t.objects.len())
    }

    /// Kinds with objects in a namespace.
    pub fn kinds_in(&self, namespace: &str) -> Vec<String> {
        let mut kinds: Vec<String> =
            self.tables.keys().filter(|k| self.list(k, namespace).next().is_some()).cloned().collect();
        kinds.sort();
        kinds
    }

    pub fn by_uid(&self, uid: &str) -> Option<(String, Key)> {
        self.by_uid.get(uid).cloned()
    }

    /// Objects that an object owns.
    pub fn dependents(&self, uid: &str) -> Vec<(String, Key)> {
        self.dependents.get(uid).map(|d| d.iter().cloned().collect()).unwrap_or_default()
    }

    /// The changes of a kind after a version.
    pub fn since(&self, kind: &str, rv: u64) -> Result<Vec<Arc<Change>>, Failure> {
        let Some(table) = self.tables.get(kind) else {
            return if rv < self.base { Err(Failure::expired(rv, self.base)) } else { Ok(Vec::new()) };
        };
        if rv < table.forgotten {
            return Err(Failure::expired(rv, table.forgotten));
        }
        let from = table.window.partition_point(|c| c.rv <= rv);
        Ok(table.window.range(from..).cloned().collect())
    }

    /// Forgets the windows of changes, as a restart of the API server does: an older watch fails with 410.
    pub fn forget_changes(&mut self) {
        self.base = self.rv;
        for table in self.tables.values_mut() {
            table.window.clear();
            table.forgotten = self.rv;
        }
    }

    /// Stores an object, new or not, and sets its resource version.
    pub fn put(&mut self, kind: &str, mut value: Value) -> Arc<Object> {
        self.rv += 1;
        let rv = self.rv;
        value["metadata"]["resourceVersion"] = rv.to_string().into();
        let object = Arc::new(Object { rv, value, json: OnceLock::new() });
        let key = object.key();
        if let Some(journal) = &mut self.journal {
            journal.put(kind, &object.json());
        }
        let previous = self.table(kind).objects.insert(key.clone(), object.clone());
        self.index(kind, &key, previous.as_ref(), Some(&object));
        let waits = object.value["metadata"]["ownerReferences"].is_array()
            || object.terminating() && object.value["metadata"]["finalizers"].is_array();
        if waits {
            self.enqueue(Upkeep::Check { kind: kind.to_owned(), key });
        }
        let op = if previous.is_some() { Op::Modified } else { Op::Added };
        self.announce(kind, Change { rv, op, object: object.clone(), previous });
        object
    }

    /// Removes an object. Returns its last state, with the resource version of the removal.
    pub fn remove(&mut self, kind: &str, key: &Key) -> Option<Arc<Object>> {
        let previous = self.table(kind).objects.remove(key)?;
        self.rv += 1;
        let rv = self.rv;
        let mut value = previous.value.clone();
        value["metadata"]["resourceVersion"] = rv.to_string().into();
        let object = Arc::new(Object { rv, value, json: OnceLock::new() });
        if let Some(journal) = &mut self.journal {
            journal.remove(kind, key, rv);
        }
        self.index(kind, key, Some(&previous), None);
        if self.dependents.contains_key(previous.uid()) {
            self.enqueue(Upkeep::OwnerGone { uid: previous.uid().to_owned() });
        }
        // an owner may wait for the last of its dependents
        for owner in items(&previous.value["metadata"]["ownerReferences"]) {
            if let Some((kind, key)) = owner["uid"].as_str().and_then(|uid| self.by_uid(uid)) {
                self.enqueue(Upkeep::Check { kind, key });
            }
        }
        self.announce(kind, Change { rv, op: Op::Deleted, object: object.clone(), previous: Some(previous) });
        Some(object)
    }

    fn enqueue(&self, what: Upkeep) {
        // the channel is closed when the cluster stops
        let _ = self.upkeep.send(what);
    }

    fn index(&mut self, kind: &str, key: &Key, previous: Option<&Arc<Object>>, now: Option<&Arc<Object>>) {
        let owners = |o: &Arc<Object>| -> Vec<String> {
            let refs = o.value["metadata"]["ownerReferences"].as_array();
            refs.into_iter().flatten().filter_map(|r| r["uid"].as_str().map(str::to_owned)).collect()
        };
        if let Some(previous) = previous {
            for uid in owners(previous) {
                if let Some(set) = self.dependents.get_mut(&uid) {
                    set.remove(&(kind.to_owned(), key.clone()));
                    if set.is_empty() {
                        self.dependents.remove(&uid);
                    }
                }
            }
            if now.is_none() {
                self.by_uid.remove(previous.uid());
            }
        }
        if let Some(now) = now {
            for uid in owners(now) {
                self.dependents.entry(uid).or_default().insert((kind.to_owned(), key.clone()));
            }
            if previous.is_none() {
                self.by_uid.insert(now.uid().to_owned(), (kind.to_owned(), key.clone()));
            }
        }
    }

    fn announce(&mut self, kind: &str, change: Change) {
        let table = self.table(kind);
        let rv = change.rv;
        table.window.push_back(Arc::new(change));
        if table.window.len() > WINDOW
            && let Some(old) = table.window.pop_front()
        {
            table.forgotten = old.rv;
        }
        table.latest.send_replace(rv);
        if self.journal.as_ref().is_some_and(Journal::has_grown) {
            let snapshot = self.snapshot();
            let rv = self.rv;
            if let Some(journal) = &mut self.journal {
                journal.compact(rv, snapshot);
            }
        }
    }

    fn snapshot(&self) -> Vec<(String, Bytes)> {
        let mut all: Vec<(u64, String, Bytes)> = self
            .tables
            .iter()
            .flat_map(|(kind, t)| t.objects.values().map(move |o| (o.rv, kind.clone(), o.json())))
            .collect();
        all.sort_by_key(|(rv, ..)| *rv);
        all.into_iter().map(|(_, kind, json)| (kind, json)).collect()
    }
}
