//! `/internal/v1/allowances`, for a service that accounts for what tenants spend.

use std::collections::BTreeMap;

use api::{Checks, Json, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use gpu_core::{budget::Allowance, reason::ReasonCode};
use ids::TenantId;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{Parts, store};
use crate::quota;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_spent_tenants)).routes(routes!(put_allowance))
}

/// The allowance of a tenant: what it may start according to the calling service.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Allowance)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllowanceOrder {
    /// Number of the change. A change is ignored unless its number is higher than the last one.
    version: i64,
    /// Currency (ISO 4217). Prices in other currencies are not limited.
    currency: String,
    /// Highest price per hour of all instances together; null for no limit.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    max_rate_per_hour: Option<Decimal>,
    /// When it expires unless it is renewed (plus a grace period, an hour by default); null if it does not expire.
    /// Nothing is started after that.
    #[serde(default)]
    valid_until: Option<Timestamp>,
    /// When nothing is left at the current rate. Nothing is started from then on. Null if that is not expected.
    #[serde(default)]
    runs_out_at: Option<Timestamp>,
    /// When more becomes available, as shown to the tenant; null if that is not known.
    #[serde(default)]
    renews_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SpentParams {
    /// Only this tenant.
    tenant_id: Option<TenantId>,
}

/// A tenant that cannot start anything.
#[derive(Debug, Serialize, ToSchema)]
struct SpentTenant {
    /// The tenant.
    tenant_id: TenantId,
    /// `budget_exhausted`, or `allowance_expired`: its allowance was not renewed; running instances continue.
    reason: ReasonCode,
    /// The reason in a sentence for a person.
    message: String,
    /// When more becomes available; null if that is not known.
    renews_at: Option<Timestamp>,
}

/// Tenants that cannot start anything.
#[derive(Debug, Serialize, ToSchema)]
struct SpentTenants {
    /// The tenants, by id.
    items: Vec<SpentTenant>,
}

/// Lists the tenants that cannot start anything now, because their budget or the allowance of another service is used
/// up. For services that start what tenants pay for. Tenants with a small remaining allowance are not listed.
#[utoipa::path(
    get, path = "/internal/v1/allowances", operation_id = "list_spent_tenants", tag = "internal",
    params(SpentParams),
    responses((status = 200, description = "The tenants", body = SpentTenants)),
)]
async fn list_spent_tenants(
    State(app): State<Parts>,
    _: Caller,
    Query(params): Query<SpentParams>,
) -> Result<Json<SpentTenants>, Problem> {
    let (now, grace) = ((app.clock)(), app.config.outage_grace());
    // the call comes from a service
    let mut tx = app.db.worker().await?;
    let mut found = BTreeMap::new();
    for (tenant_id, allowance) in store::spent_allowances(&mut tx, params.tenant_id, now).await? {
        if let Some(refused) = allowance.refuses(Default::default(), now, grace) {
            let (reason, message) = (refused.reason(), refused.to_string());
            let renews_at = refused.renews_at();
            let spent = SpentTenant { tenant_id, reason, message, renews_at };
            // an exhausted budget also ends running instances, so it takes precedence
            if reason == ReasonCode::BudgetExhausted || !found.contains_key(&tenant_id) {
                found.insert(tenant_id, spent);
            }
        }
    }
    Ok(Json(SpentTenants { items: found.into_values().collect() }))
}

/// Sets the allowance of a tenant: what it may start. It applies from the response on, in addition to the tenant's
/// budget and the allowances of other services. Returns the latest known allowance.
#[utoipa::path(
    put, path = "/internal/v1/allowances/{tenant_id}", operation_id = "put_allowance", tag = "internal",
    params(("tenant_id" = TenantId, Path, description = "Tenant id")),
    request_body = AllowanceOrder,
    responses((status = 200, description = "The latest allowance of the caller", body = AllowanceOrder)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn put_allowance(
    State(app): State<Parts>,
    caller: Caller,
    Path(tenant): Path<TenantId>,
    Json(order): Json<AllowanceOrder>,
) -> Result<Json<AllowanceOrder>, Problem> {
    let mut checks = Checks::default();
    checks.currency("/currency", &order.currency);
    let is_rate = order.max_rate_per_hour.is_none_or(|rate| !rate.is_sign_negative());
    checks.require(is_rate, "/max_rate_per_hour", "must not be negative");
    checks.finish()?;
    // the call comes from a service
    let mut tx = app.db.worker().await?;
    // a start that has read the previous allowance ends first
    quota::lock_use(&mut tx, tenant).await?;
    let allowance = Allowance {
        issuer: caller.name.clone(),
        version: order.version,
        currency: order.currency.clone(),
        max_rate_per_hour: order.max_rate_per_hour,
        valid_until: order.valid_until,
        runs_out_at: order.runs_out_at,
        renews_at: order.renews_at,
    };
    store::issue(&mut tx, tenant, &allowance).await?;
    let latest = store::allowances(&mut tx, tenant).await?;
    tx.commit().await?;
    let latest = latest.into_iter().find(|known| known.issuer == caller.name);
    Ok(Json(latest.map_or(order, AllowanceOrder::from)))
}

impl From<Allowance> for AllowanceOrder {
    fn from(allowance: Allowance) -> Self {
        Self {
            version: allowance.version,
            currency: allowance.currency,
            max_rate_per_hour: allowance.max_rate_per_hour.map(|rate| rate.normalize()),
            valid_until: allowance.valid_until,
            runs_out_at: allowance.runs_out_at,
            renews_at: allowance.renews_at,
        }
    }
}
