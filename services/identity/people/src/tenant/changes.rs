//! Changes of tenants, each within the transaction of its request.

use api::{IfMatch, Operation, Problem};
use auth::Principal;
use ids::TenantId;
use jiff::{SignedDuration, Timestamp};
use operations::{End, NewOperation};
use sqlx::{PgConnection, error::ErrorKind};

use super::{
    Error,
    model::{Deletion, NewTenant, Tenant, TenantChange, TenantState},
    store,
};
use crate::{authority, revocation, scope};

pub(super) async fn create(
    tx: &mut PgConnection,
    caller: &Principal,
    new: &NewTenant,
) -> Result<Tenant, Problem> {
    authority::admin(tx, caller).await?;
    check_name_is_free(tx, &new.name, None).await?;
    store::insert(tx, TenantId::new(), new).await?.ok_or_else(|| Error::NameTaken.into())
}

/// Changes the tenant. Suspension revokes all tokens for it, and the services carry out a new state. A new
/// state cancels a deletion.
pub(super) async fn update(
    tx: &mut PgConnection,
    caller: &Principal,
    id: TenantId,
    if_match: &IfMatch,
    change: &TenantChange,
) -> Result<Tenant, Problem> {
    if change.is_of_owners() {
        authority::manager(tx, caller, id).await?;
    } else {
        authority::admin(tx, caller).await?;
    }
    let tenant = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
    if_match.check(tenant.generation)?;
    if let Some(name) = &change.name {
        check_name_is_free(tx, name, Some(id)).await?;
    }
    let updated = store::update(tx, id, tenant.generation, change)
        .await
        .map_err(Problem::violated(ErrorKind::UniqueViolation, || Error::NameTaken.into()))?;
    let updated = updated.ok_or_else(|| Problem::internal("a locked tenant has changed"))?;
    if tenant.state == TenantState::Active && updated.state == TenantState::Suspended {
        revocation::of_tenant(tx, id).await?;
    }
    if let (Some(deletion), None) = (tenant.deletion_id, updated.deletion_id) {
        operations::finish(tx, deletion, &End::Cancelled).await?;
    }
    if (tenant.state, tenant.stop_instances) != (updated.state, updated.stop_instances) {
        store::carry_out(tx, id).await?;
    }
    Ok(updated)
}

/// Checks that no other tenant has a name that differs in case or form only. The index of the database
/// handles only A to Z.
async fn check_name_is_free(tx: &mut PgConnection, name: &str, own: Option<TenantId>) -> Result<(), Problem> {
    store::lock_names(tx).await?;
    let name = api::text::folded(name);
    let others = store::special_names(tx, own).await?;
    if others.iter().any(|other| api::text::folded(other) == name) {
        return Err(Error::NameTaken.into());
    }
    Ok(())
}

/// Begins the deletion of a suspended tenant with all that it owns, or changes the time of the deletion. Returns the
/// operation.
pub(super) async fn delete(
    tx: &mut PgConnection,
    caller: &Principal,
    id: TenantId,
    deletion: Deletion,
    now: Timestamp,
) -> Result<Operation, Problem> {
    authority::admin(tx, caller).await?;
    let tenant = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
    scope::tenant(tx, id).await?;
    tenant.check_deletable(store::has_more_than_owners(tx, id).await?)?;
    if let Some(before) = tenant.deletion_id {
        operations::finish(tx, before, &End::Cancelled).await?;
    }
    let operation = NewOperation::new(None, id, "delete_tenant").insert(tx).await?;
    let delete_storages_at = now + SignedDuration::from_hours(deletion.storage_grace_hours.into());
    store::mark_deleting(tx, id, operation.id, delete_storages_at).await?;
    store::carry_out(tx, id).await?;
    Ok(operation)
}
