//! A cache: values that the replicas of a service share in a Valkey or Redis if one is configured, and that
//! each process keeps in memory otherwise. Values can be lost at any time and are never the only source: on a
//! miss, the caller reads the source, and any doubt about a value counts as a miss.
//!
//! - A call takes at most [`TIMEOUT`]. After a failed call, the store is not used for a moment, then one call tries it
//!   again; the pause grows with each further failure, up to [`PAUSE`].
//! - Every value expires. Memory is bounded; a Valkey is bounded by its own `maxmemory`.
//! - In a Valkey, values are encrypted with the service's key and bound to the name under which they are stored:
//!   damaged, forged or moved bytes count as a miss. Names contain ids and hashes, never a secret.

mod circuit;
mod memory;
mod reads;
mod valkey;

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use service::{Health, Metrics, health::DependencyKind};

pub use self::{
    circuit::{Circuit, PAUSE},
    reads::{LIFE, LOCAL_LIFE, Reads},
    valkey::{TIMEOUT, connect},
};
use self::{memory::Memory, valkey::Valkey};

/// The store that the replicas of a service share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// A Valkey or Redis, not a cluster: `redis://[:password@]host:port[/database]`, or `rediss://…` with TLS.
    pub url: SecretString,
    /// 32 random bytes in base64, the same for all replicas of the service: values are encrypted with it.
    /// With another key, stored values count as missing.
    pub key: SecretString,
}

/// The cache of a service. Clones share it.
#[derive(Clone)]
pub struct Cache(Arc<Inner>);

struct Inner {
    service: &'static str,
    store: Store,
    requests: Family<Labels, Counter>,
}

enum Store {
    Valkey(Box<Valkey>),
    Memory(Memory),
}

/// The outcome of reading or storing a value.
const OUTCOMES: [&str; 4] = ["hit", "miss", "stored", "failed"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    area: &'static str,
    outcome: &'static str,
}

/// Registers the metrics of a cache.
pub fn describe_metrics(metrics: &Metrics) {
    register(metrics);
}

fn register(metrics: &Metrics) -> Family<Labels, Counter> {
    let requests = Family::default();
    metrics.register(|registry| {
        registry.register(
            "cache_requests",
            "Reads and writes of the cache, by outcome: hit, miss, stored, failed (no answer in time, or not tried after a failure)",
            &["area", "outcome"],
            requests.clone(),
        );
    });
    requests
}

impl Cache {
    /// The cache of `service`: shared by its replicas if it is configured, in memory if not. It begins to connect.
    ///
    /// # Errors
    /// If the address or the key is not valid.
    pub fn new(
        service: &'static str,
        config: Option<&CacheConfig>,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let store = match config {
            Some(config) => Store::Valkey(Box::new(Valkey::new(service, config)?)),
            None => Store::Memory(Memory::default()),
        };
        Ok(Self(Arc::new(Inner { service, store, requests: register(metrics) })))
    }

    /// Whether the replicas of the service share it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.0.store, Store::Valkey(_))
    }

    /// Adds the store to the dependencies of the process, if there is one.
    pub fn report_to(&self, health: &Health) {
        if !self.is_shared() {
            return;
        }
        let cache = self.clone();
        health.depends_on("cache", DependencyKind::Cache, move || {
            let cache = cache.clone();
            async move { cache.check().await }
        });
    }

    /// Checks that the store answers, if there is one.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn check(&self) -> Result<(), String> {
        match &self.0.store {
            Store::Valkey(valkey) => valkey.ping().await,
            Store::Memory(_) => Ok(()),
        }
    }

    /// Values of one kind.
    #[must_use]
    pub fn area(&self, name: &'static str) -> Area {
        for outcome in OUTCOMES {
            drop(self.0.requests.get_or_create(&Labels { area: name, outcome }));
        }
        Area { cache: self.clone(), name }
    }
}

/// Values of one kind in a cache.
#[derive(Clone)]
pub struct Area {
    cache: Cache,
    name: &'static str,
}

impl Area {
    /// Returns the cached value; none if it is absent or the cache does not answer. `key` contains the owner of the value.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.get_all(&[key.to_owned()]).await.pop().flatten()
    }

    /// As [`Self::get`], of several keys with one call.
    pub async fn get_all<T: DeserializeOwned>(&self, keys: &[String]) -> Vec<Option<T>> {
        if keys.is_empty() {
            return Vec::new();
        }
        let Some(found) = self.load(keys).await else {
            self.count("failed");
            return keys.iter().map(|_| None).collect();
        };
        let decoded = found.into_iter().map(|bytes| serde_json::from_slice(&bytes?).ok());
        decoded
            .inspect(|value: &Option<T>| self.count(if value.is_some() { "hit" } else { "miss" }))
            .collect()
    }

    /// Stores a value for this long. Returns whether that is confirmed; if not, either the new or an earlier value may
    /// be stored.
    pub async fn put(&self, key: &str, value: &impl Serialize, life: Duration) -> bool {
        let Ok(bytes) = serde_json::to_vec(value) else { return false };
        let name = self.name_of(key);
        let stored = match &self.cache.0.store {
            Store::Valkey(valkey) => valkey.put(&name, &bytes, life).await,
            Store::Memory(memory) => {
                memory.put(name, bytes, life);
                true
            }
        };
        self.count(if stored { "stored" } else { "failed" });
        stored
    }

    /// Removes a value, if the store answers.
    pub async fn remove(&self, key: &str) {
        let name = self.name_of(key);
        match &self.cache.0.store {
            Store::Valkey(valkey) => valkey.remove(&name).await,
            Store::Memory(memory) => memory.remove(&name),
        }
    }

    /// Returns the bytes with these keys; none if the store does not answer.
    async fn load(&self, keys: &[String]) -> Option<Vec<Option<Vec<u8>>>> {
        let names: Vec<String> = keys.iter().map(|key| self.name_of(key)).collect();
        match &self.cache.0.store {
            Store::Valkey(valkey) => valkey.get(&names).await,
            Store::Memory(memory) => Some(names.iter().map(|name| memory.get(name)).collect()),
        }
    }

    fn name_of(&self, key: &str) -> String {
        format!("atelier:{}:{}:{key}", self.cache.0.service, self.name)
    }

    fn count(&self, outcome: &'static str) {
        self.cache.0.requests.get_or_create(&Labels { area: self.name, outcome }).inc();
    }
}
