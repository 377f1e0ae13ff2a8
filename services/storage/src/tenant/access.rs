//! The access of a tenant's keys to the object store.

use ids::TenantId;

use super::{model::TenantFate, store};
use crate::{object_store, state::AppState};

/// Suspends the tenant's user in the object store, so that its access keys open nothing, or resumes it: as the tenant's
/// state says. A tenant that has always been active costs one query.
pub(crate) async fn apply<E>(state: &AppState, tenant: TenantId) -> Result<(), E>
where
    E: From<sqlx::Error> + From<object_store::Error>,
{
    let Some(objects) = &state.object_store else { return Ok(()) };
    let mut tx = state.db.worker().await?;
    let order = store::find(&mut tx, tenant).await?;
    tx.commit().await?;
    let Some(order) = order else { return Ok(()) };
    Ok(objects.suspend_user(tenant, order.state != TenantFate::Active).await?)
}
