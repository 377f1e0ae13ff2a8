//! The queue of the stock service.

use std::sync::Arc;

use api::{Json, Path, Problem, Query};
use auth::Caller;
use axum::extract::State;
use ids::{InstanceId, UnitId};
use serde::Deserialize;
use serde_json::{Value, json};
use stock_api::{ClaimRequest, WaitRequest};

use super::{Played, SPEC, claim};

pub(super) async fn claim_or_wait(
    State(state): State<Played>,
    caller: Caller,
    Path(instance_id): Path<InstanceId>,
    Json(wait): Json<WaitRequest>,
) -> Result<Json<Value>, Problem> {
    let request = ClaimRequest {
        instance_id,
        tenant_id: wait.tenant_id,
        gpu_spec_id: wait.gpu_spec_id,
        datacenter_id: wait.datacenter_id,
        preferred_node: wait.preferred_node,
        interruptible: false,
        recall_rank: 0,
    };
    let played = Arc::clone(&state.0);
    match claim(State(state), caller, Json(request)).await {
        Ok((_, claim)) => Ok(Json(json!({ "claim": claim.0 }))),
        Err(_) => {
            let mut holdings = played.holdings();
            if !holdings.waits.contains(&instance_id) {
                holdings.waits.push(instance_id);
            }
            Ok(Json(json!({ "claim": null })))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntriesQuery {
    instance_ids: String,
}

pub(super) async fn entries(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Query(query): Query<EntriesQuery>,
) -> Json<Value> {
    let holdings = played.holdings();
    let asked: Vec<InstanceId> = query.instance_ids.split(',').map(|id| id.parse().unwrap()).collect();
    let items: Vec<Value> = holdings
        .waits
        .iter()
        .enumerate()
        .filter(|(_, id)| asked.contains(id))
        .map(|(n, id)| {
            json!({ "instance_id": id, "position": n + 1, "length": holdings.waits.len(),
                "gpu_spec": { "id": played.spec, "name": SPEC }, "datacenter": null, "draining": false,
                "priority": 0, "since": "2026-01-01T00:00:00Z",
                "estimate": { "starts_at": "2026-01-01T01:00:00Z", "releases": 3, "period_seconds": 60 },
                "alternatives": played.alternatives() })
        })
        .collect();
    Json(json!({ "items": items }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantsQuery {
    after: String,
    wait_seconds: u64,
}

pub(super) async fn grants(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Query(query): Query<GrantsQuery>,
) -> Json<Value> {
    let mut granted = std::pin::pin!(played.granted.notified());
    granted.as_mut().enable();
    let after: usize = query.after.parse().unwrap_or(0);
    if played.holdings().grants.len() <= after {
        let _ = tokio::time::timeout(std::time::Duration::from_secs(query.wait_seconds), granted).await;
    }
    let holdings = played.holdings();
    let items: Vec<Value> = holdings.grants[after..]
        .iter()
        .map(|id| json!({ "at": "2026-01-01T00:00:00Z", "change": { "instance_id": id, "unit_id": UnitId::new() } }))
        .collect();
    Json(json!({ "items": items, "next_cursor": holdings.grants.len().to_string(), "complete": true }))
}
