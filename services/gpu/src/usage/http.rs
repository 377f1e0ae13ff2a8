//! `/v1/instances/{id}/usage`.

use api::{Json, PageParams, Path, Problem, Query};
use auth::Member;
use axum::extract::State;
use ids::{InstanceId, RunId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{amount, store};
use crate::{app::AppState, instance};

/// An interval in which the instance ran.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MeteredRun {
    /// Its id.
    id: RunId,
    /// When the probe passed, by the cluster's evidence, in whole seconds.
    started_at: Timestamp,
    /// When it ended; null while it goes on.
    ended_at: Option<Timestamp>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_reason: Option<String>,
    /// Whole seconds; of a run that goes on, until now.
    seconds: i64,
    /// The price of its unit when it was claimed.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// ISO 4217.
    currency: String,
    /// seconds × price_per_hour ÷ 3600, to the sixth digit.
    #[schema(value_type = String)]
    amount: Decimal,
}

/// All runs in one currency.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageTotal {
    /// ISO 4217.
    currency: String,
    /// Whole seconds.
    seconds: i64,
    /// The sum of the runs' amounts.
    #[schema(value_type = String)]
    amount: Decimal,
}

/// What an instance has used.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Usage {
    /// Its runs, the newest first.
    items: Vec<MeteredRun>,
    /// Send it as `cursor` to get the next page; null at the end.
    next_cursor: Option<String>,
    /// Whole seconds of all runs, not only of this page.
    total_seconds: i64,
    /// All runs by currency, not only those of this page.
    totals: Vec<UsageTotal>,
}

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_instance_usage))
}

/// What an instance has used: confirmed running time and its price.
#[utoipa::path(get, path = "/v1/instances/{id}/usage", tag = "instances",
    operation_id = "get_instance_usage", params(("id" = InstanceId, Path), PageParams),
    responses((status = 200, description = "Runs and totals", body = Usage),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn get_instance_usage(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Usage>, Problem> {
    let asked = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    instance::store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, member.tenant, id, asked.after, asked.rows()).await?;
    let totals: Vec<UsageTotal> = store::totals(&mut tx, member.tenant, id)
        .await?
        .into_iter()
        .map(|(currency, seconds, amount)| UsageTotal { currency, seconds, amount: amount.normalize() })
        .collect();
    let page = asked.page(rows, |run| run.id).map(|run| MeteredRun {
        id: run.id,
        started_at: run.started_at.to_jiff(),
        ended_at: run.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        end_reason: run.end_reason,
        seconds: run.seconds,
        price_per_hour: run.price_per_hour,
        amount: amount(run.seconds, run.price_per_hour),
        currency: run.currency,
    });
    Ok(Json(Usage {
        items: page.items,
        next_cursor: page.next_cursor,
        total_seconds: totals.iter().map(|total| total.seconds).sum(),
        totals,
    }))
}
