//! Changes of tenants by administrators, each within the transaction of its request.

use api::{IfMatch, Problem};
use ids::TenantId;
use sqlx::{PgConnection, error::ErrorKind};

use super::{
    model::{NewTenant, Tenant, TenantChange},
    store,
};
use crate::{error::Error, membership, scope};

pub(super) async fn create(tx: &mut PgConnection, new: &NewTenant) -> Result<Tenant, Error> {
    store::insert(tx, TenantId::new(), new).await?.ok_or(Error::NameTaken)
}

pub(super) async fn update(
    tx: &mut PgConnection,
    id: TenantId,
    if_match: &IfMatch,
    change: &TenantChange,
) -> Result<Tenant, Problem> {
    let tenant = store::lock(tx, id).await?.ok_or(Error::NotFound)?;
    if_match.check(tenant.generation)?;
    let updated = store::update(tx, id, tenant.generation, change)
        .await
        .map_err(Problem::violated(ErrorKind::UniqueViolation, || Error::NameTaken.into()))?;
    updated.ok_or_else(|| Problem::internal("a locked tenant has changed"))
}

/// Deletes a suspended tenant and its owners' memberships.
pub(super) async fn delete(tx: &mut PgConnection, id: TenantId) -> Result<(), Error> {
    let tenant = store::lock(tx, id).await?.ok_or(Error::NotFound)?;
    scope::tenant(tx, id).await?;
    tenant.check_deletable(membership::has_more_than_owners(tx, id).await?)?;
    membership::delete_all(tx, id).await?;
    Ok(store::delete(tx, id).await?)
}
