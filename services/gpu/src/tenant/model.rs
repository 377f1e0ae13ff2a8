//! The state of a tenant, and what it does to instances.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::instance::InstanceState;

/// What is to become of what a tenant owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum TenantFate {
    /// Nothing: the tenant is active.
    Active,
    /// Nothing is started.
    Suspended,
    /// All instances are deleted.
    Deleting,
}

/// The state of a tenant, for this service to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TenantOrder {
    /// Number of the change; an order with a lower one than the last is ignored.
    pub(crate) generation: i64,
    /// What is to become of what the tenant owns.
    pub(crate) state: TenantFate,
    /// Whether a suspension stops running instances too.
    pub(crate) stop_instances: bool,
    /// Whether a deletion can no longer be taken back: once the instances are deleted, so is all that is left of the tenant.
    #[serde(default)]
    pub(crate) delete_storages: bool,
}

/// How far this service is with an order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TenantProgress {
    /// Whether the order is carried out.
    pub(crate) done: bool,
    /// Objects that are still to be stopped or deleted, by kind.
    pub(crate) remaining: BTreeMap<&'static str, i64>,
}

impl TenantProgress {
    pub(super) fn of(instances: i64, logs: i64) -> Self {
        let kinds = [("instances", instances), ("logs", logs)];
        let remaining: BTreeMap<_, _> = kinds.into_iter().filter(|(_, count)| *count > 0).collect();
        Self { done: remaining.is_empty(), remaining }
    }
}

impl TenantOrder {
    /// States of instances that are to be stopped or deleted.
    pub(super) fn ends(&self) -> &'static [InstanceState] {
        use InstanceState::{Pending, Running, Starting, Stopped, Stopping};
        match self.state {
            TenantFate::Active => &[],
            TenantFate::Suspended if self.stop_instances => &[Pending, Starting, Running],
            TenantFate::Suspended => &[Pending, Starting],
            TenantFate::Deleting => &[Pending, Starting, Running, Stopping, Stopped],
        }
    }

    /// States of instances that are not yet as ordered.
    pub(super) fn unfinished(&self) -> &'static [InstanceState] {
        use InstanceState::{Deleting, Pending, Running, Starting, Stopped, Stopping};
        match self.state {
            TenantFate::Active => &[],
            TenantFate::Suspended if self.stop_instances => &[Pending, Starting, Running, Stopping],
            TenantFate::Suspended => &[Pending, Starting, Stopping],
            TenantFate::Deleting => &[Pending, Starting, Running, Stopping, Stopped, Deleting],
        }
    }
}
