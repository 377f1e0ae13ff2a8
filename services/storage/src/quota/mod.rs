//! Quotas: the limits of the number and size of a tenant's storages.

mod http;
mod model;
mod store;

use api::Problem;
use ids::TenantId;
use sqlx::PgConnection;

use crate::config::LimitsConfig;

pub(crate) use http::routes;
pub(crate) use model::Usage;

/// Refuses a request that exceeds a quota. Other requests of the tenant that add storage wait until this transaction
/// ends.
///
/// # Errors
/// `quota-exceeded`.
pub(crate) async fn check(
    conn: &mut PgConnection,
    defaults: &LimitsConfig,
    tenant: TenantId,
    added: Usage,
) -> Result<(), Problem> {
    store::lock_usage(conn, tenant).await?;
    let limits = store::find(conn, tenant).await?.map(|quota| quota.limits).unwrap_or_default();
    let used = store::usage(conn, tenant).await?;
    let exceeded = limits.effective(defaults).exceeded(used, added);
    exceeded.map_or(Ok(()), |exceeded| Err(exceeded.into()))
}
