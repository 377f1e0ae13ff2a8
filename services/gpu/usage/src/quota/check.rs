//! Whether the tenant's limits allow an instance.

use std::collections::BTreeMap;

use api::{Problem, ProblemType};
use gpu_core::{
    instance::{Instance, State},
    quota::{Exceeded, Use},
};
use ids::TenantId;
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::store;

/// Returns the limit that the instance exceeds together with the tenant's other instances, if any. `is_new`:
/// the instance is being created. Other transactions that add to the tenant's use wait until this one ends.
pub async fn check(
    conn: &mut PgConnection,
    instance: &Instance,
    is_new: bool,
) -> sqlx::Result<Option<Exceeded>> {
    // most tenants have no limits: their starts do not wait for one another
    if store::find(conn, instance.tenant).await?.is_none() {
        return Ok(None);
    }
    store::lock_use(conn, instance.tenant).await?;
    quote(conn, instance, is_new).await
}

/// Like [`check`], without a lock: another instance may be first.
pub async fn quote(
    conn: &mut PgConnection,
    instance: &Instance,
    is_new: bool,
) -> sqlx::Result<Option<Exceeded>> {
    let Some(quota) = store::find(conn, instance.tenant).await? else { return Ok(None) };
    let used = store::used(conn, instance.tenant, Some(instance.id)).await?;
    Ok(quota.limits.exceeded(&used, &added(instance, is_new)))
}

/// The problem of a request that exceeds a limit.
pub fn problem(exceeded: Exceeded) -> Problem {
    let detail = exceeded.to_string();
    match exceeded {
        Exceeded::Number { limit, most, used, requested } => Problem::new(ProblemType::QuotaExceeded, detail)
            .with("quota", limit.to_string())
            .with("limit", most)
            .with("used", used)
            .with("requested", requested),
        Exceeded::Cost { most, used, requested, currency } => {
            Problem::new(ProblemType::CostLimitExceeded, detail)
                .with("limit", most)
                .with("used", used)
                .with("requested", requested)
                .with("currency", currency)
        }
    }
}

/// Requires that the tenant may run images of its own.
pub async fn check_own_images(conn: &mut PgConnection, tenant: TenantId) -> Result<(), Problem> {
    match store::find(conn, tenant).await? {
        Some(quota) if quota.limits.own_images => Ok(()),
        _ => Err(Problem::new(ProblemType::Forbidden, "The tenant may not run images of its own.").next(
            "Choose a service of GET /v1/services, or ask an administrator of the platform to allow images \
             of your own (`own_images` of the tenant's quota).",
        )),
    }
}

/// The price per hour of the tenant's other instances that are not stopped, or hold their unit, in one currency.
pub(crate) async fn cost_used(
    conn: &mut PgConnection,
    instance: &Instance,
    currency: &str,
) -> sqlx::Result<Decimal> {
    let used = store::used(conn, instance.tenant, Some(instance.id)).await?;
    Ok(used.cost_per_hour.get(currency).copied().unwrap_or_default())
}

/// The price per hour that the instance adds once it starts, in one currency.
pub(crate) fn cost_added(instance: &Instance, currency: &str) -> Decimal {
    added(instance, false).cost_per_hour.remove(currency).unwrap_or_default()
}

/// What the instance adds: once it starts, at the price of its claim; before, at the price of its order.
fn added(instance: &Instance, is_new: bool) -> Use {
    if let State::Stopped { hold: None, .. } = instance.state {
        return Use { instances: i64::from(is_new), ..Use::default() };
    }
    let order = &instance.order;
    let (currency, price) = match instance.state.claim() {
        Some(claim) => (claim.currency.clone(), claim.price_per_hour),
        None => (order.currency.clone(), order.price_per_hour),
    };
    Use {
        instances: i64::from(is_new),
        gpus: BTreeMap::from([(order.gpu.model.clone(), order.gpu.count)]),
        cost_per_hour: BTreeMap::from([(currency, price)]),
    }
}
