//! Quotas: how many storages of which size a tenant may have.

mod http;
mod model;
mod store;

use ids::TenantId;
use sqlx::PgConnection;

use crate::{config::LimitsConfig, error::Error};

pub(crate) use http::routes;
pub(crate) use model::{Exceeded, Usage};

/// Refuses what exceeds a quota. Other requests of the tenant that add storage wait until this transaction ends.
pub(crate) async fn check(
    conn: &mut PgConnection,
    defaults: &LimitsConfig,
    tenant: TenantId,
    added: Usage,
) -> Result<(), Error> {
    store::lock_usage(conn, tenant).await?;
    let limits = store::find(conn, tenant).await?.map(|quota| quota.limits).unwrap_or_default();
    let used = store::usage(conn, tenant).await?;
    let exceeded = limits.effective(defaults).exceeded(used, added);
    exceeded.map_or(Ok(()), |exceeded| Err(Error::QuotaExceeded(exceeded)))
}
