//! The state of a tenant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is to become of what a tenant owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum TenantFate {
    /// Nothing: the tenant is active.
    Active,
    /// No jobs are submitted, and those that there are wait.
    Suspended,
    /// As suspended, and open jobs are cancelled.
    Deleting,
}

/// The state of a tenant, for this service to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TenantOrder {
    /// Number of the change; an order with a lower one than the last is ignored.
    pub(crate) generation: i64,
    /// What is to become of what the tenant owns.
    pub(crate) state: TenantFate,
    /// Whether a deletion deletes storages already; jobs are cancelled before.
    pub(crate) delete_storages: bool,
}

/// How far this service is with an order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TenantProgress {
    /// Whether the order is carried out.
    pub(crate) done: bool,
    /// Objects that are still to be deleted, by kind.
    pub(crate) remaining: BTreeMap<&'static str, i64>,
}
