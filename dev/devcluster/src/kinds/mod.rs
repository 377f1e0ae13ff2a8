//! Which kinds are served: the builtin table and what CustomResourceDefinitions add to it while running.

pub(crate) mod builtin;
pub(crate) mod custom;

use crate::error::Failure;
use crate::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Round trip through the real type: refuses wrong types and drops unknown fields.
pub(crate) type TypeCheck = fn(&Value) -> Result<Value, String>;

/// A kind as it is served under one path.
pub(crate) struct Resource {
    /// `plural` or `plural.group`: names the kind in the store and in messages.
    pub id: String,
    pub group: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// `metadata.generation` is counted.
    pub generation: bool,
    /// Fields beside the two of metadata that can be selected by.
    pub selectable: Vec<String>,
    pub versions: Vec<Version>,
    pub source: Source,
}

pub(crate) enum Source {
    Builtin(TypeCheck),
    Custom,
}

pub(crate) struct Version {
    pub name: String,
    pub storage: bool,
    pub status: bool,
    pub schema: Option<Schema>,
    pub columns: Vec<Column>,
}

/// A printer column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub r#type: String,
    pub path: String,
    pub priority: i64,
    pub description: String,
}

impl Resource {
    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.name == name)
    }
    pub(crate) fn storage_version(&self) -> &Version {
        self.versions.iter().find(|v| v.storage).unwrap_or(&self.versions[0])
    }
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.source, Source::Custom)
    }
    pub(crate) fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }
    pub(crate) fn not_found(&self, name: &str) -> Failure {
        Failure::not_found(&self.group, &self.plural, name)
    }
    pub(crate) fn forbidden(&self, name: &str, why: &str) -> Failure {
        Failure::forbidden(&self.group, &self.plural, name, why)
    }
}

/// All served kinds by id. Cheap to read from any request.
#[derive(Default)]
pub(crate) struct Registry {
    kinds: RwLock<BTreeMap<String, Arc<Resource>>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let kinds = builtin::table().into_iter().map(|r| (r.id.clone(), Arc::new(r))).collect();
        Self { kinds: RwLock::new(kinds) }
    }
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Resource>> {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
    /// The kind served under `/apis/<group>/<version>/<plural>`.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let found = if group.is_empty() { self.get(plural) } else { self.get(&format!("{plural}.{group}")) };
        found.filter(|r| r.group == group && r.version(version).is_some())
    }
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
    pub(crate) fn insert(&self, resource: Resource) {
        self.kinds
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(resource.id.clone(), Arc::new(resource));
    }
    pub(crate) fn remove(&self, id: &str) {
        self.kinds.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
