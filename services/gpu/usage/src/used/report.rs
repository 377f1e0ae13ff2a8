//! `/v1/usage` and `/v1/platform-usage`: what was used in a window, summed up by group.

use api::{Json, Page, PageParams, Problem, ProblemType, Query, Window, openapi::OpenApiRouter};
use auth::{Admin, HasAuth, Member};
use axum::extract::{FromRef, State};
use ids::TenantId;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    report_store::{self, Group, Report},
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_usage)).routes(routes!(list_platform_usage))
}

/// How a report is grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupBy {
    /// The instance.
    #[default]
    Instance,
    /// The day in UTC.
    Day,
    /// The GPU specification.
    Spec,
    /// What was used: `running` or `held`.
    Kind,
}

impl GroupBy {
    fn as_str(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Day => "day",
            Self::Spec => "spec",
            Self::Kind => "kind",
        }
    }
}

/// How a report on all tenants is grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlatformGroupBy {
    /// The tenant.
    #[default]
    Tenant,
    /// The instance.
    Instance,
    /// The day in UTC.
    Day,
    /// The GPU specification.
    Spec,
    /// What was used: `running` or `held`.
    Kind,
}

impl PlatformGroupBy {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Instance => "instance",
            Self::Day => "day",
            Self::Spec => "spec",
            Self::Kind => "kind",
        }
    }
}

/// Window, groups and page of a tenant's report.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UsageQuery {
    /// Beginning of the window; 30 days before its end if absent.
    from: Option<Timestamp>,
    /// End of the window, at most 366 days after its beginning; now if absent.
    to: Option<Timestamp>,
    /// How the report is grouped.
    #[serde(default)]
    #[param(inline)]
    group_by: GroupBy,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Window, groups and page of a report about all tenants.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PlatformUsageQuery {
    /// Only usage of this tenant.
    tenant_id: Option<TenantId>,
    /// Beginning of the window; 30 days before its end if absent.
    from: Option<Timestamp>,
    /// End of the window, at most 366 days after its beginning; now if absent.
    to: Option<Timestamp>,
    /// How the report is grouped.
    #[serde(default)]
    #[param(inline)]
    group_by: PlatformGroupBy,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Usage of a group in the window. Of runs that began before it or continued after it, only the part inside counts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageGroup {
    /// Id of the instance or tenant, day in UTC (`2026-01-31`), name of the GPU specification, or `running` or `held`.
    group: String,
    /// Duration of confirmed running in whole seconds.
    running_seconds: i64,
    /// Duration of holds in whole seconds.
    held_seconds: i64,
    /// Cost of both. The amounts of consecutive windows add up to the amounts of the runs.
    #[schema(value_type = String)]
    amount: Decimal,
    /// Currency (ISO 4217).
    currency: String,
    /// How many of the runs have not ended; they count until now.
    open_runs: i64,
}

impl From<Group> for UsageGroup {
    fn from(group: Group) -> Self {
        Self {
            group: group.key,
            running_seconds: group.running_seconds,
            held_seconds: group.held_seconds,
            amount: group.amount.normalize(),
            currency: group.currency,
            open_runs: group.open_runs,
        }
    }
}

async fn read(
    tx: &mut db::Tx,
    report: Report<'_>,
    page: &PageParams,
) -> Result<Json<Page<UsageGroup>>, Problem> {
    let request = page.texts()?;
    let after = request.after.as_ref().map(|(key, currency)| (key.as_str(), currency.as_str()));
    let rows = report_store::groups(tx, report, after, request.rows()).await?;
    let page = request.page(rows, |group| (group.key.clone(), group.currency.clone()));
    Ok(Json(page.map(UsageGroup::from)))
}

/// Lists the usage of the tenant in a window of time, by instance, day, GPU specification or kind.
#[utoipa::path(
    get, path = "/v1/usage", operation_id = "list_usage", tag = "usage", params(UsageQuery),
    responses((status = 200, description = "A page of groups", body = Page<UsageGroup>)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn list_usage(
    State(app): State<Parts>,
    member: Member,
    Query(query): Query<UsageQuery>,
) -> Result<Json<Page<UsageGroup>>, Problem> {
    let Window { from, to } = Window::read(query.from, query.to, (app.clock)())?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let report = Report { tenant: Some(member.tenant), from, to, group_by: query.group_by.as_str() };
    read(&mut tx, report, &PageParams { limit: query.limit, cursor: query.cursor }).await
}

/// Lists the usage of all tenants in a window of time. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-usage", operation_id = "list_platform_usage", tag = "platform",
    params(PlatformUsageQuery),
    responses((status = 200, description = "A page of groups", body = Page<UsageGroup>)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn list_platform_usage(
    State(app): State<Parts>,
    _admin: Admin,
    Query(query): Query<PlatformUsageQuery>,
) -> Result<Json<Page<UsageGroup>>, Problem> {
    let Window { from, to } = Window::read(query.from, query.to, (app.clock)())?;
    let mut tx = app.db.admin().await?;
    let report = Report { tenant: query.tenant_id, from, to, group_by: query.group_by.as_str() };
    read(&mut tx, report, &PageParams { limit: query.limit, cursor: query.cursor }).await
}
