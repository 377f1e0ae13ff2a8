//! Orders, and the progress of a service with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state to apply to what a tenant owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum TenantState {
    /// Nothing: the tenant is active.
    Active,
    /// Nothing new is created or started.
    Suspended,
    /// All of it is deleted.
    Deleting,
}

/// The state of a tenant, for a service to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantOrder {
    /// Number of the change; an order with a lower number than the last one is ignored.
    pub generation: i64,
    /// The state to apply to what the tenant owns.
    pub state: TenantState,
    /// Whether a suspension stops running instances, too.
    #[serde(default)]
    pub stop_instances: bool,
    /// Whether the deletion can no longer be cancelled: storages are deleted, and then all remaining data of the
    /// tenant.
    #[serde(default)]
    pub delete_storages: bool,
}

/// Progress of a service with an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantProgress {
    /// Whether the order is carried out.
    pub done: bool,
    /// Objects that are still to be stopped or deleted, by kind.
    pub remaining: BTreeMap<String, i64>,
}

impl TenantProgress {
    /// The progress of a service that still has this many objects of each kind.
    pub fn of<'a>(kinds: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let left = kinds.into_iter().filter(|(_, count)| *count > 0);
        let remaining: BTreeMap<_, _> = left.map(|(kind, count)| (kind.to_owned(), count)).collect();
        Self { done: remaining.is_empty(), remaining }
    }
}
