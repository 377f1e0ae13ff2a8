//! Effects of the state of a tenant on instances.

use gpu_core::instance::InstanceState;
use tenants::{TenantOrder, TenantState};

/// States of instances that must be stopped or deleted.
pub(super) fn ends(order: &TenantOrder) -> &'static [InstanceState] {
    use InstanceState::{Pending, Running, Starting, Stopped, Stopping};
    match order.state {
        TenantState::Active => &[],
        TenantState::Suspended if order.stop_instances => &[Pending, Starting, Running],
        TenantState::Suspended => &[Pending, Starting],
        TenantState::Deleting => &[Pending, Starting, Running, Stopping, Stopped],
    }
}

/// States of instances that do not match the order yet.
pub(super) fn unfinished(order: &TenantOrder) -> &'static [InstanceState] {
    use InstanceState::{Deleting, Pending, Running, Starting, Stopped, Stopping};
    match order.state {
        TenantState::Active => &[],
        TenantState::Suspended if order.stop_instances => &[Pending, Starting, Running, Stopping],
        TenantState::Suspended => &[Pending, Starting, Stopping],
        TenantState::Deleting => &[Pending, Starting, Running, Stopping, Stopped, Deleting],
    }
}
