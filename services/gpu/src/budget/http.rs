//! `/v1/budget` of the tenant, `/v1/platform-budgets` for administrators.

use ::http::StatusCode;
use api::{
    ETag, IdempotencyKey, IfMatch, IfSet, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use audit::{NewAction, Why};
use auth::{Admin, Member};
use axum::extract::State;
use ids::TenantId;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    issuer::{issue, judge_budget},
    model::{Month, Progress, Spending, Terms, cost, judge},
    store::{self, Budget},
};
use crate::{
    config::BudgetsConfig,
    event::{self, BudgetResumed, By, Detail, ResumeCause},
    quota,
    state::AppState,
};

/// How long it takes until a stop is ordered, at most, while a replica runs: the lease of one that was killed, and the
/// time between two reads of the queue.
const REACTION: SignedDuration = SignedDuration::from_secs(7);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_budget)).routes(routes!(list_platform_budgets)).routes(routes!(
        get_platform_budget,
        put_platform_budget,
        delete_platform_budget
    ))
}

/// A step of a budget.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BudgetStep {
    /// Part of the amount in percent.
    percent: u8,
    /// That part.
    #[schema(value_type = String)]
    amount: Decimal,
    /// When it was reached in this month, or null.
    reached_at: Option<Timestamp>,
    /// When it is reached at the present rate; null if it is, or not in this month.
    expected_at: Option<Timestamp>,
}

/// What a tenant may spend in the calendar month (UTC), and has spent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct BudgetView {
    /// The budget.
    terms: Terms,
    /// When the month began.
    from: Timestamp,
    /// When the next month begins.
    renews_at: Timestamp,
    /// What was spent since then, until now.
    #[schema(value_type = String)]
    spent: Decimal,
    /// The part for running instances.
    #[schema(value_type = String)]
    spent_running: Decimal,
    /// The part for holds.
    #[schema(value_type = String)]
    spent_held: Decimal,
    /// What is spent per hour now.
    #[schema(value_type = String)]
    rate_per_hour: Decimal,
    /// When the whole amount is spent at this rate; null if not in this month.
    runs_out_at: Option<Timestamp>,
    /// The steps, ascending, with the whole amount.
    steps: Vec<BudgetStep>,
    /// Whether instances are stopped, and none can be started.
    starts_refused: bool,
    /// Until when at most, or null.
    refused_until: Option<Timestamp>,
    /// What all instances together may cost per hour so that another one can be started; null without a limit.
    #[schema(value_type = Option<String>)]
    max_rate_per_hour: Option<Decimal>,
    /// What may be spent beyond the amount at the present rate, at most: until the stop is ordered and everything has
    /// stopped. Null if nothing is stopped.
    #[schema(value_type = Option<String>)]
    worst_overspend: Option<Decimal>,
}

impl BudgetView {
    fn of(budget: &Budget, spending: &Spending, config: BudgetsConfig) -> Self {
        let month = Month::of(spending.at);
        let judged = judge(&budget.terms, &budget.progress, spending, config.times());
        let within =
            |percent: u8| spending.reaches(budget.terms.threshold(percent)).filter(|at| *at < month.to);
        let reached = &judged.progress.reached;
        let steps = budget.terms.steps().map(|percent| BudgetStep {
            percent,
            amount: budget.terms.threshold(percent).normalize(),
            reached_at: reached.get(&percent).copied(),
            expected_at: within(percent).filter(|_| !reached.contains_key(&percent)),
        });
        let allowance = judged.allowance;
        let starts_refused = judged.progress.stopped_at.is_some();
        let exposed = config.stop_grace().saturating_add(REACTION);
        Self {
            steps: steps.collect(),
            from: month.from,
            renews_at: month.to,
            spent: spending.spent(),
            spent_running: spending.running,
            spent_held: spending.held,
            rate_per_hour: spending.rate_per_hour,
            runs_out_at: within(100),
            starts_refused,
            refused_until: starts_refused.then_some(month.to),
            worst_overspend: allowance.as_ref().map(|_| cost(spending.rate_per_hour, exposed)),
            max_rate_per_hour: allowance.and_then(|allowance| allowance.max_rate_per_hour),
            terms: budget.terms.clone(),
        }
    }
}

/// The budget of a tenant.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlatformBudget)]
pub(crate) struct PlatformBudgetView {
    /// The tenant.
    tenant_id: TenantId,
    /// Its budget.
    terms: Terms,
}

/// Returns what the tenant may spend this month, what it has spent, and when the rest is spent.
#[utoipa::path(
    get, path = "/v1/budget", operation_id = "get_budget", tag = "usage",
    responses(
        (status = 200, description = "The budget", body = BudgetView),
        (status = 204, description = "The tenant has none: it may spend without a limit")
    ),
)]
async fn get_budget(State(app): State<AppState>, member: Member) -> Result<IfSet<Json<BudgetView>>, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let Some(budget) = store::find(&mut tx, member.tenant).await? else { return Ok(IfSet(None)) };
    let now = (app.clock)();
    let currency = &budget.terms.currency;
    let spending = store::spending(&mut tx, member.tenant, currency, Month::of(now), now).await?;
    Ok(IfSet(Some(Json(BudgetView::of(&budget, &spending, app.config.budgets)))))
}

/// Lists the tenants that have a budget, by id. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-budgets", operation_id = "list_platform_budgets", tag = "platform",
    params(PageParams),
    responses((status = 200, description = "A page of budgets", body = Page<PlatformBudgetView>)),
)]
async fn list_platform_budgets(
    State(app): State<AppState>,
    _admin: Admin,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<PlatformBudgetView>>, Problem> {
    let request = params.request()?;
    let mut tx = app.db.admin().await?;
    let rows = store::list(&mut tx, request.after, request.rows()).await?;
    let page = request.page(rows, |budget| budget.tenant);
    Ok(Json(page.map(|budget| PlatformBudgetView { tenant_id: budget.tenant, terms: budget.terms })))
}

/// Returns the budget of a tenant. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-budgets/{tenant_id}", operation_id = "get_platform_budget", tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id")),
    responses(
        (status = 200, description = "The budget", body = PlatformBudgetView),
        (status = 204, description = "The tenant has none: it may spend without a limit")
    ),
)]
async fn get_platform_budget(
    State(app): State<AppState>,
    _admin: Admin,
    Path(tenant): Path<TenantId>,
) -> Result<IfSet<(ETag, Json<PlatformBudgetView>)>, Problem> {
    let mut tx = app.db.admin().await?;
    let view = |budget: Budget| {
        (ETag(budget.generation), Json(PlatformBudgetView { tenant_id: tenant, terms: budget.terms }))
    };
    Ok(IfSet(store::find(&mut tx, tenant).await?.map(view)))
}

/// Sets the monthly budget of a tenant; for a tenant without one, with `If-Match: *`. It counts at once, with what was
/// spent since the beginning of the month: a larger one lets instances start again, and one that is spent stops them.
/// The action is recorded. For administrators.
#[utoipa::path(
    put, path = "/v1/platform-budgets/{tenant_id}", operation_id = "put_platform_budget", tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id"), Why, IdempotencyKey, IfMatch),
    request_body = Terms,
    responses((status = 200, description = "The budget", body = PlatformBudgetView)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn put_platform_budget(
    State(app): State<AppState>,
    admin: Admin,
    key: IdempotencyKey,
    if_match: IfMatch,
    Path(tenant): Path<TenantId>,
    Query(why): Query<Why>,
    Json(terms): Json<Terms>,
) -> Result<Reply, Problem> {
    why.check()?;
    let mut checks = api::Checks::default();
    terms.check(&mut checks);
    checks.finish()?;
    key.once(app.db.admin().await?, admin.0.user, &(&why, &terms), async |tx| {
        db::act_for(tx, tenant).await?;
        // before the row: a start that has seen the old allowance ends first
        quota::lock_use(tx, tenant).await?;
        if let Some(budget) = store::find(tx, tenant).await? {
            if_match.check(budget.generation)?;
        }
        let now = (app.clock)();
        let generation = store::put(tx, tenant, &terms, &Progress::new(&terms, now)).await?;
        NewAction::on_tenant(tenant, "put_budget", &why, admin.0.user).insert(tx).await?;
        judge_budget(tx, tenant, app.config.budgets, now).await?;
        let view = PlatformBudgetView { tenant_id: tenant, terms: terms.clone() };
        Ok(Reply::json(StatusCode::OK, &view)?.etag(generation))
    })
    .await
}

/// Removes the budget of a tenant. The action is recorded. For administrators.
#[utoipa::path(
    delete, path = "/v1/platform-budgets/{tenant_id}", operation_id = "delete_platform_budget", tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id"), Why, IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_platform_budget(
    State(app): State<AppState>,
    admin: Admin,
    key: IdempotencyKey,
    Path(tenant): Path<TenantId>,
    Query(why): Query<Why>,
) -> Result<Reply, Problem> {
    why.check()?;
    key.once(app.db.admin().await?, admin.0.user, &why, async |tx| {
        db::act_for(tx, tenant).await?;
        quota::lock_use(tx, tenant).await?;
        let budget = store::find(tx, tenant).await?.ok_or_else(Problem::not_found)?;
        store::delete(tx, tenant).await?;
        issue(tx, tenant, None).await?;
        NewAction::on_tenant(tenant, "delete_budget", &why, admin.0.user).insert(tx).await?;
        if budget.progress.stopped_at.is_some() {
            let resumed = Detail::BudgetResumed(BudgetResumed { cause: ResumeCause::BudgetChanged });
            event::store::append(tx, tenant, None, &By::system(), &[resumed.into()]).await?;
        }
        Ok(Reply::no_content())
    })
    .await
}
