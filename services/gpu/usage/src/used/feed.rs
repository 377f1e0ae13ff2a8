//! `/internal/v1/usage`: the records of all runs, for services that charge for them.

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use feed::{Changes, FeedQuery, Outbox};
use gpu_core::meter::{Correction, UsageKind, Watermark};
use ids::{InstanceId, RunId, TenantId, UnitId};
use instances::meter::store;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{Parts, http::RunEnd};

/// The feed of all tenants' records. The trigger on `runs` writes and announces them.
pub const OUTBOX: Outbox = Outbox { table: "usage_records", channel: "atelier_gpu_usage" };

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
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
    /// Configured name of the unit's cluster.
    cluster: String,
    /// Name of the unit's datacenter.
    datacenter: String,
    /// Beginning, in whole seconds.
    from: Timestamp,
    /// End, in whole seconds; null while the run is open. There are no records while it continues: see `watermarks`.
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

/// Records of all tenants after a cursor.
#[derive(Debug, Serialize, ToSchema)]
struct UsageFeed {
    /// The records; those of one run in the order of their versions.
    items: Vec<UsageRecord>,
    /// Send it as `after` to get the records that follow. Store it in the same transaction as the effects of the
    /// records.
    next_cursor: String,
    /// Whether these are all records until now; false if more follow at once.
    complete: bool,
    /// Times up to which the open runs of each cluster are confirmed. Read before the records: an open run is in this
    /// page or an earlier one.
    watermarks: Vec<Watermark>,
}

/// Returns usage records of all tenants after a cursor. Waits for the next one if there are none.
#[utoipa::path(
    get, path = "/internal/v1/usage", operation_id = "list_usage_feed", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The records", body = UsageFeed)),
)]
async fn list_usage_feed(
    State(app): State<Parts>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<UsageFeed>, Problem> {
    let (after, wait) = query.read(app.shutdown.clone())?;
    let mut tx = app.db.worker().await?;
    let watermarks = store::watermarks(&mut tx).await?;
    tx.commit().await?;
    let Changes { items, next_cursor, complete } = app.feed.changes(&after, &wait).await?;
    let items = items.into_iter().map(|item| item.change).collect();
    Ok(Json(UsageFeed { items, next_cursor, complete, watermarks }))
}
