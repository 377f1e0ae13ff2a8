//! `/v1/budget` of the tenant, `/v1/platform-budgets` for administrators.

use ::http::StatusCode;
use api::{
    ETag, IdempotencyKey, IfMatch, IfSet, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use audit::{NewAction, Why};
use auth::{Admin, HasAuth, Member};
use axum::extract::{FromRef, State};
use gpu_core::{
    budget::{Month, Progress, Spending, Terms, cost, evaluate},
    event::{BudgetResumed, By, Detail, ResumeCause},
};
use ids::TenantId;
use instances::event;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::config::BudgetsConfig;
use super::{
    Parts,
    issuer::{evaluate_budget, issue},
    store::{self, Budget},
};
use crate::quota;

/// Maximum time until a stop is ordered, while a replica runs: the lease of one that was killed, and the time between
/// two reads of the queue.
const REACTION: SignedDuration = SignedDuration::from_secs(7);

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
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
    /// When it will be reached at the current rate; null if it was reached, or will not be in this month.
    expected_at: Option<Timestamp>,
}

/// What a tenant may spend in the calendar month (UTC), and what it has spent.
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
    /// When the whole amount will be spent at this rate; null if not in this month.
    runs_out_at: Option<Timestamp>,
    /// The steps, ascending, with the whole amount.
    steps: Vec<BudgetStep>,
    /// Whether instances are stopped, and none can be started.
    starts_refused: bool,
    /// Latest end of this, or null.
    refused_until: Option<Timestamp>,
    /// Maximum cost per hour of all instances together, including one to be started; null without a limit.
    #[schema(value_type = Option<String>)]
    max_rate_per_hour: Option<Decimal>,
    /// Maximum that may be spent beyond the amount at the current rate, until the stop is ordered and everything has
    /// stopped. Null if nothing is stopped.
    #[schema(value_type = Option<String>)]
    worst_overspend: Option<Decimal>,
}

impl BudgetView {
    fn of(budget: &Budget, spending: &Spending, config: BudgetsConfig) -> Self {
        let month = Month::of(spending.at);
        let evaluated = evaluate(&budget.terms, &budget.progress, spending, config.times());
        let within =
            |percent: u8| spending.reaches(budget.terms.threshold(percent)).filter(|at| *at < month.to);
        let reached = &evaluated.progress.reached;
        let steps = budget.terms.steps().map(|percent| BudgetStep {
            percent,
            amount: budget.terms.threshold(percent).normalize(),
            reached_at: reached.get(&percent).copied(),
            expected_at: within(percent).filter(|_| !reached.contains_key(&percent)),
        });
        let allowance = evaluated.allowance;
        let starts_refused = evaluated.progress.stopped_at.is_some();
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

/// Returns the budget of the tenant for this month: its amount, what was spent, and when the rest will be spent at the
/// current rate.
#[utoipa::path(
    get, path = "/v1/budget", operation_id = "get_budget", tag = "usage",
    responses(
        (status = 200, description = "The budget", body = BudgetView),
        (status = 204, description = "The tenant has no budget: its spending is not limited")
    ),
)]
async fn get_budget(State(app): State<Parts>, member: Member) -> Result<IfSet<Json<BudgetView>>, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let Some(budget) = store::find(&mut tx, member.tenant).await? else { return Ok(IfSet(None)) };
    let now = (app.clock)();
    let currency = &budget.terms.currency;
    let spending = store::spending(&mut tx, member.tenant, currency, Month::of(now), now).await?;
    Ok(IfSet(Some(Json(BudgetView::of(&budget, &spending, app.config)))))
}

/// Lists the tenants that have a budget, by id. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-budgets", operation_id = "list_platform_budgets", tag = "platform",
    params(PageParams),
    responses((status = 200, description = "A page of budgets", body = Page<PlatformBudgetView>)),
)]
async fn list_platform_budgets(
    State(app): State<Parts>,
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
        (status = 204, description = "The tenant has no budget: its spending is not limited")
    ),
)]
async fn get_platform_budget(
    State(app): State<Parts>,
    _admin: Admin,
    Path(tenant): Path<TenantId>,
) -> Result<IfSet<(ETag, Json<PlatformBudgetView>)>, Problem> {
    let mut tx = app.db.admin().await?;
    let view = |budget: Budget| {
        (ETag(budget.generation), Json(PlatformBudgetView { tenant_id: tenant, terms: budget.terms }))
    };
    Ok(IfSet(store::find(&mut tx, tenant).await?.map(view)))
}

/// Sets the monthly budget of a tenant; send `If-Match: *` for a tenant without one. It applies at once and includes
/// what was spent since the beginning of the month: a larger budget allows instances to start again, an exhausted one
/// stops them. The action is recorded. For administrators.
#[utoipa::path(
    put, path = "/v1/platform-budgets/{tenant_id}", operation_id = "put_platform_budget", tag = "platform",
    params(("tenant_id" = TenantId, Path, description = "Tenant id"), Why, IdempotencyKey, IfMatch),
    request_body = Terms,
    responses((status = 200, description = "The budget", body = PlatformBudgetView)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn put_platform_budget(
    State(app): State<Parts>,
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
        // before the row: a start that has read the old allowance ends first
        quota::lock_use(tx, tenant).await?;
        if let Some(budget) = store::find(tx, tenant).await? {
            if_match.check(budget.generation)?;
        }
        let now = (app.clock)();
        let generation = store::put(tx, tenant, &terms, &Progress::new(&terms, now)).await?;
        NewAction::on_tenant(tenant, "put_budget", &why, admin.0.user).insert(tx).await?;
        evaluate_budget(tx, tenant, app.config, now).await?;
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
    State(app): State<Parts>,
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
