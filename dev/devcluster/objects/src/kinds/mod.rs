//! The served kinds: the builtin ones, and those that CustomResourceDefinitions add at run time.

pub mod builtin;
pub mod custom;

use crate::error::Failure;
use crate::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Id of the kind that defines kinds.
pub const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Converts a value to the Kubernetes type and back: refuses wrong types and drops unknown fields.
pub type TypeCheck = fn(&Value) -> Result<Value, String>;

/// A served kind. Each kind has one version.
pub struct Resource {
    /// `plural` or `plural.group`; identifies the kind in the store and in messages.
    pub id: String,
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub namespaced: bool,
    /// Whether `metadata.generation` is counted.
    pub generation: bool,
    /// Whether the kind has a status subresource.
    pub status: bool,
    /// Fields for field selectors, in addition to `metadata.name` and `metadata.namespace`.
    pub selectable: Vec<String>,
    /// The type check of a builtin kind.
    pub check: Option<TypeCheck>,
    /// The schema of a custom kind.
    pub schema: Option<Schema>,
    pub columns: Vec<Column>,
}

/// A printer column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub r#type: String,
    pub path: String,
    pub priority: i64,
    pub description: String,
}

impl Resource {
    pub fn is_custom(&self) -> bool {
        self.schema.is_some()
    }

    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub fn not_found(&self, name: &str) -> Failure {
        Failure::not_found(&self.group, &self.plural, name)
    }

    pub fn forbidden(&self, name: &str, why: &str) -> Failure {
        Failure::forbidden(&self.group, &self.plural, name, why)
    }
}

/// All served kinds by id.
pub struct Registry {
    kinds: RwLock<BTreeMap<String, Arc<Resource>>>,
}

impl Registry {
    /// The kinds of Kubernetes itself.
    pub fn builtin() -> Self {
        let kinds = builtin::table().into_iter().map(|r| (r.id.clone(), Arc::new(r))).collect();
        Self { kinds: RwLock::new(kinds) }
    }

    pub fn get(&self, id: &str) -> Option<Arc<Resource>> {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The kind served under `/apis/<group>/<version>/<plural>`.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let found = if group.is_empty() { self.get(plural) } else { self.get(&format!("{plural}.{group}")) };
        found.filter(|r| r.group == group && r.version == version)
    }

    pub fn all(&self) -> Vec<Arc<Resource>> {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    pub fn insert(&self, resource: Resource) {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        kinds.insert(resource.id.clone(), Arc::new(resource));
    }

    pub fn remove(&self, id: &str) {
        self.kinds.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
