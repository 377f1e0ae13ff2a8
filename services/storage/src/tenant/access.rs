//! The access of a tenant's keys to the object store.

use db::Db;
use ids::TenantId;
use tenants::TenantState;

use crate::object_store::{self, ObjectStore};

/// Suspends the tenant's user in the object store, so that its access keys do not work, or resumes it, according to the
/// tenant's state. A tenant that has always been active costs one query.
pub(crate) async fn apply<E>(db: &Db, objects: &ObjectStore, tenant: TenantId) -> Result<(), E>
where
    E: From<sqlx::Error> + From<object_store::Error>,
{
    let mut tx = db.worker().await?;
    let order = tenants::find(&mut tx, tenant).await?;
    tx.commit().await?;
    let Some(order) = order else { return Ok(()) };
    Ok(objects.suspend_user(tenant, order.state != TenantState::Active).await?)
}
