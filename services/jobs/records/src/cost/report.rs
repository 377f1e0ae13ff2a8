//! `/v1/job-usage` and `/v1/platform-job-usage`: cost of attempts in a window, summed up by group.

use std::time::Duration;

use api::{Json, Page, PageParams, Problem, ProblemType, Query, Window, openapi::OpenApiRouter};
use auth::{Admin, HasAuth, Member};
use axum::extract::{FromRef, State};
use ids::TenantId;
use jiff::Timestamp;
use jobs_core::cost::Amount;
use serde::{Deserialize, Serialize};
use service::{Duty, Round, Task};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    report_store::{self, Group, Report},
};
use crate::rest;

/// How often what attempts cost is added to the sums by day.
const PERIOD: Duration = Duration::from_secs(5);
/// The largest number of changes that one transaction adds to the sums.
const BATCH: u32 = 10_000;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_job_usage)).routes(routes!(list_platform_job_usage))
}

/// The task that keeps the sums by day. Reports are correct without it, but slower.
pub(super) fn task(parts: &Parts) -> Task {
    rest::task(&parts.rest, ("usage", Duty::Reconcile, PERIOD), parts, |parts| async move {
        let mut tx = parts.db.worker().await?;
        let added = report_store::add_changes(&mut tx, BATCH.into()).await?;
        tx.commit().await?;
        Ok(Round::of(added, BATCH.into()))
    })
}

/// How a report is grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupBy {
    /// The day in UTC.
    #[default]
    Day,
    /// What the job made: `generation`, `training` or `batch`.
    Kind,
    /// The application.
    Application,
    /// The pool.
    Pool,
    /// The GPU specification.
    Spec,
    /// Whether it was charged: `charged`, a reason why not, or `open`.
    Charge,
}

impl GroupBy {
    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Kind => "kind",
            Self::Application => "application",
            Self::Pool => "pool",
            Self::Spec => "spec",
            Self::Charge => "charge",
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
    /// The day in UTC.
    Day,
    /// What the job made: `generation`, `training` or `batch`.
    Kind,
    /// The application.
    Application,
    /// The pool.
    Pool,
    /// The GPU specification.
    Spec,
    /// Whether it was charged: `charged`, a reason why not, or `open`.
    Charge,
}

impl PlatformGroupBy {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Day => "day",
            Self::Kind => "kind",
            Self::Application => "application",
            Self::Pool => "pool",
            Self::Spec => "spec",
            Self::Charge => "charge",
        }
    }
}

/// Window, groups and page of a tenant's report.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobUsageQuery {
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
pub(crate) struct PlatformJobUsageQuery {
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

/// Cost of the attempts of a group in the window. Of charged work that began before it or continued after it, only the
/// part inside counts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobUsageGroup {
    /// Day in UTC (`2026-01-31`), kind, name of the application or of the GPU specification, id of the pool or tenant, or `charged`,
    /// `open` or the reason why it is not charged. The application is empty for jobs that were deleted before there were reports.
    #[schema(example = "generation")]
    group: String,
    /// Charged seconds.
    #[schema(example = 5400)]
    seconds: i64,
    /// Their cost. The amounts of consecutive windows add up to those of the attempts.
    #[schema(value_type = String, example = "0.3")]
    amount: Amount,
    /// Currency (ISO 4217); null for attempts without a known price.
    #[schema(example = "USD")]
    currency: Option<String>,
    /// Seconds of ended attempts that cost nothing: loading, and work that is not charged.
    #[schema(example = 600)]
    uncharged_seconds: i64,
    /// How many attempts that were assigned in the window have ended. Grouped by `charge`, those with charged seconds are `charged`.
    #[schema(example = 90)]
    attempts: i64,
    /// How many of those that were assigned in the window have not ended. Their cost is known when they end.
    #[schema(example = 2)]
    open_attempts: i64,
}

impl From<Group> for JobUsageGroup {
    fn from(group: Group) -> Self {
        Self {
            group: group.key,
            seconds: group.seconds,
            amount: Amount(group.amount),
            currency: Some(group.currency).filter(|currency| !currency.is_empty()),
            uncharged_seconds: group.uncharged_seconds,
            attempts: group.attempts,
            open_attempts: group.open_attempts,
        }
    }
}

async fn read(
    tx: &mut db::Tx,
    report: Report<'_>,
    page: &PageParams,
) -> Result<Json<Page<JobUsageGroup>>, Problem> {
    let request = page.texts()?;
    let after = request.after.as_ref().map(|(key, currency)| (key.as_str(), currency.as_str()));
    let rows = report_store::groups(tx, report, after, request.rows()).await?;
    let page = request.page(rows, |group| (group.key.clone(), group.currency.clone()));
    Ok(Json(page.map(JobUsageGroup::from)))
}

/// Lists the cost of the tenant's jobs in a window of time, by day, kind, application, pool, GPU specification, or
/// charge.
#[utoipa::path(
    get, path = "/v1/job-usage", operation_id = "list_job_usage", tag = "usage", params(JobUsageQuery),
    responses((status = 200, description = "A page of groups", body = Page<JobUsageGroup>)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn list_job_usage(
    State(parts): State<Parts>,
    member: Member,
    Query(query): Query<JobUsageQuery>,
) -> Result<Json<Page<JobUsageGroup>>, Problem> {
    let Window { from, to } = Window::read(query.from, query.to, (parts.clock)())?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let report = Report { tenant: Some(member.tenant), from, to, group_by: query.group_by.as_str() };
    read(&mut tx, report, &PageParams { limit: query.limit, cursor: query.cursor }).await
}

/// Lists the cost of the jobs of all tenants in a window of time. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-job-usage", operation_id = "list_platform_job_usage", tag = "platform",
    params(PlatformJobUsageQuery),
    responses((status = 200, description = "A page of groups", body = Page<JobUsageGroup>)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn list_platform_job_usage(
    State(parts): State<Parts>,
    _admin: Admin,
    Query(query): Query<PlatformJobUsageQuery>,
) -> Result<Json<Page<JobUsageGroup>>, Problem> {
    let Window { from, to } = Window::read(query.from, query.to, (parts.clock)())?;
    let mut tx = parts.db.admin().await?;
    let report = Report { tenant: query.tenant_id, from, to, group_by: query.group_by.as_str() };
    read(&mut tx, report, &PageParams { limit: query.limit, cursor: query.cursor }).await
}
