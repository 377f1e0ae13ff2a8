//! The storage service.

use api::{IdempotencyKey, Json, Path, Problem};
use auth::{Caller, Member, User};
use axum::extract::State;
use http::StatusCode;
use ids::{InstanceId, StorageId, TenantId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Played, PlayedStorage};
use crate::harness::{CLUSTER, OTHER_CLUSTER};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachRequest {
    tenant_id: TenantId,
    mode: String,
}

/// The specification `ssd` has volumes of at most 100 GiB, `objects` has buckets.
pub(super) async fn storage_spec(_: User, Path(id_or_name): Path<String>) -> Result<Json<Value>, Problem> {
    match id_or_name.as_str() {
        "ssd" => Ok(Json(json!({ "kind": "volume" }))),
        "objects" => Ok(Json(json!({ "kind": "bucket" }))),
        _ => Err(Problem::not_found()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewStorage {
    name: String,
    storage_spec: String,
    size_gib: i64,
    #[serde(default)]
    datacenter: Option<String>,
}

pub(super) async fn create_storage(
    State(Played(played, _)): State<Played>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewStorage>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    if new.size_gib > 100 {
        return Err(Problem::invalid_field("/size_gib", "must be at most 100"));
    }
    assert_eq!((new.name.as_str(), new.storage_spec.as_str()), ("pictures", "ssd"));
    let in_other = new.datacenter.as_deref() == Some("dev-2");
    let storage = PlayedStorage { tenant: member.tenant, kind: "volume", in_other };
    let known = played.holdings().keys.get(key.as_str()).copied();
    let id = known.unwrap_or_else(|| played.insert_storage(storage));
    played.holdings().keys.insert(key.as_str().to_owned(), id);
    let datacenter = if in_other { "dev-2" } else { "dev-1" };
    Ok((StatusCode::ACCEPTED, Json(json!({ "id": id, "kind": "volume", "datacenter": datacenter }))))
}

pub(super) async fn storage(
    State(Played(played, _)): State<Played>,
    member: Member,
    Path(id): Path<StorageId>,
) -> Result<Json<Value>, Problem> {
    match played.holdings().storages.get(&id) {
        Some(storage) if storage.tenant == member.tenant => {
            let datacenter = match (storage.kind, storage.in_other) {
                ("bucket", _) => Value::Null,
                (_, true) => json!("dev-2"),
                (_, false) => json!("dev-1"),
            };
            Ok(Json(json!({ "id": id, "name": "mine", "kind": storage.kind, "datacenter": datacenter })))
        }
        _ => Err(Problem::not_found()),
    }
}

pub(super) async fn attach(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path((id, instance)): Path<(StorageId, InstanceId)>,
    Json(request): Json<AttachRequest>,
) -> Result<Json<Value>, Problem> {
    let mut holdings = played.holdings();
    let storage = holdings.storages.get(&id).filter(|storage| storage.tenant == request.tenant_id);
    let storage = *storage.ok_or_else(Problem::not_found)?;
    holdings.attachments.insert((id, instance), request.mode);
    let cluster = if storage.in_other { OTHER_CLUSTER } else { CLUSTER };
    Ok(Json(json!({ "kind": storage.kind, "cluster": cluster, "object_name": id.k8s_name() })))
}

pub(super) async fn detach(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path((id, instance)): Path<(StorageId, InstanceId)>,
) -> StatusCode {
    played.holdings().attachments.remove(&(id, instance));
    StatusCode::NO_CONTENT
}
