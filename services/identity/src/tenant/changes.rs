//! Changes of tenants by administrators, each within the transaction of its request.

use api::{IfMatch, Problem};
use auth::Principal;
use ids::TenantId;
use sqlx::{PgConnection, error::ErrorKind};

use super::{
    model::{NewTenant, Tenant, TenantChange, TenantState},
    store,
};
use crate::{authority, error::Error, membership, revocation, scope};

pub(super) async fn create(
    tx: &mut PgConnection,
    caller: &Principal,
    new: &NewTenant,
) -> Result<Tenant, Error> {
    authority::admin(tx, caller).await?;
    store::insert(tx, TenantId::new(), new).await?.ok_or(Error::NameTaken)
}

/// Changes the tenant. Suspension revokes all tokens for it.
pub(super) async fn update(
    tx: &mut PgConnection,
    caller: &Principal,
    id: TenantId,
    if_match: &IfMatch,
    change: &TenantChange,
) -> Result<Tenant, Problem> {
    authority::admin(tx, caller).await?;
    let tenant = store::lock(tx, id).await?.ok_or(Error::NotFound)?;
    if_match.check(tenant.generation)?;
    let updated = store::update(tx, id, tenant.generation, change)
        .await
        .map_err(Problem::violated(ErrorKind::UniqueViolation, || Error::NameTaken.into()))?;
    let updated = updated.ok_or_else(|| Problem::internal("a locked tenant has changed"))?;
    if tenant.state == TenantState::Active && updated.state == TenantState::Suspended {
        revocation::of_tenant(tx, id).await?;
    }
    Ok(updated)
}

/// Deletes a suspended tenant and its owners' memberships.
pub(super) async fn delete(tx: &mut PgConnection, caller: &Principal, id: TenantId) -> Result<(), Error> {
    authority::admin(tx, caller).await?;
    let tenant = store::lock(tx, id).await?.ok_or(Error::NotFound)?;
    scope::tenant(tx, id).await?;
    tenant.check_deletable(membership::has_more_than_owners(tx, id).await?)?;
    membership::delete_all(tx, id).await?;
    store::delete(tx, id).await?;
    Ok(revocation::of_tenant(tx, id).await?)
}
