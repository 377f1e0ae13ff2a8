//! `/internal/v1/usage`: the records of all runs, for services that charge for them.

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::Caller;
use axum::extract::State;
use feed::{Changes, FeedQuery, Outbox};
use ids::{InstanceId, RunId, TenantId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{Correction, UsageKind, http::RunEnd, store};
use crate::state::AppState;

/// The feed of all tenants' records. The trigger on `runs` writes and announces them.
pub(crate) const OUTBOX: Outbox = Outbox { table: "usage_records", channel: "atelier_gpu_usage" };

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_usage_feed))
}

/// A run when it began, ended or was corrected: its whole state, which replaces that of lower versions.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct UsageRecord {
    /// Run id.
    run_id: RunId,
    /// Grows with each change of the run, from 1. After the database was restored, it is higher than all before.
    version: i32,
    /// What was used.
    kind: UsageKind,
    /// Owner of the instance.
    tenant_id: TenantId,
    /// The instance.
    instance_id: InstanceId,
    /// The unit.
    unit_id: UnitId,
    /// Name of the GPU specification.
    gpu_spec: String,
    /// Configured name of the unit's cluster; null in records of early versions.
    cluster: Option<String>,
    /// Name of the unit's datacenter; null in records of early versions.
    datacenter: Option<String>,
    /// Beginning, in whole seconds.
    from: Timestamp,
    /// End, in whole seconds; null while the run is open. There is no record while it goes on: see `watermarks`.
    to: Option<Timestamp>,
    /// Price per hour at the time of the claim.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// Currency (ISO 4217).
    currency: String,
    /// Why it ended, as in the usage of an instance; null while it is open.
    #[schema(value_type = Option<RunEnd>)]
    end_reason: Option<String>,
    /// Why a closed interval was changed; null if it was not.
    correction: Option<Correction>,
}

/// How far the runs of a cluster are confirmed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Watermark {
    /// Configured name of the cluster.
    pub(super) cluster: String,
    /// The cluster has reported all its open runs as going on up to this time. It stands still while the cluster does not
    /// answer.
    pub(super) confirmed_through: Timestamp,
}

/// Records of all tenants after a cursor.
#[derive(Debug, Serialize, ToSchema)]
struct UsageFeed {
    /// The records; those of one run in the order of their versions.
    items: Vec<UsageRecord>,
    /// Send it as `after` to get the records that follow. Store it in the transaction of what the records lead to.
    next_cursor: String,
    /// Whether these are all records until now; false if more follow at once.
    complete: bool,
    /// How far the open runs of each cluster are confirmed. Read before the records: an open run is in this page or an
    /// earlier one.
    watermarks: Vec<Watermark>,
}

/// Returns records of runs of all tenants after a cursor, and waits for the next if there are none.
#[utoipa::path(
    get, path = "/internal/v1/usage", operation_id = "list_usage_feed", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The records", body = UsageFeed)),
)]
async fn list_usage_feed(
    State(app): State<AppState>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<UsageFeed>, Problem> {
    let (after, wait) = query.read(app.shutdown.clone())?;
    let mut tx = app.db.worker().await?;
    let watermarks = store::watermarks(&mut tx).await?;
    tx.commit().await?;
    let Changes { items, next_cursor, complete } = app.usage.changes(&after, &wait).await?;
    let items = items.into_iter().map(|item| item.change).collect();
    Ok(Json(UsageFeed { items, next_cursor, complete, watermarks }))
}
