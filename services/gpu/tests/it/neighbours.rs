//! The stock, the storage and the identity service, played: what they hold, in memory; they can be away.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

mod queue;
mod storages;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
};

use api::{Json, Path, Problem, ProblemType, Query};
use auth::{AuthState, Caller, HasAuth, OnBehalf, User};
use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{Html, IntoResponse, Response},
    routing::{get, post, put},
};
use http::StatusCode;
use ids::{DatacenterId, GpuSpecId, InstanceId, StorageId, TenantId, UnitId, UserId};
use jiff::Timestamp;
use peer::Endpoint;
use serde::Deserialize;
use serde_json::{Value, json};
use stock_api::{Allocation, ClaimPatch, ClaimRequest, Datacenter, DatacenterState, GpuSpec, GpuSpecState};
use testkit::{Issuer, service_token};

use queue::{claim_or_wait, entries, grants};
use storages::{attach, create_storage, detach, storage, storage_spec};

use crate::harness::{CLUSTER, OTHER_CLUSTER};

/// The specification that instances are ordered with.
pub(crate) const SPEC: &str = "3080-small-4-1";
/// Another one, with the same units, at twice the price.
pub(crate) const LARGE_SPEC: &str = "3080-large-8-2";
/// Its price per hour.
pub(crate) const PRICE: &str = "0.36";
/// The part of it for which a stopped instance keeps its unit.
const HOLD_PRICE_FRACTION: &str = "0.25";

#[derive(Default)]
struct Holdings {
    units: Vec<UnitId>,
    /// Units of the second cluster.
    other_units: BTreeSet<UnitId>,
    /// Holder → unit, and since when.
    claims: BTreeMap<InstanceId, (UnitId, Timestamp)>,
    /// Holders that lose their units to other claims, with their ranks.
    interruptible: BTreeMap<InstanceId, i16>,
    /// Holder → the one that had the unit before, and until when it leaves.
    recalls: BTreeMap<InstanceId, (InstanceId, Timestamp)>,
    /// Those that wait, in order.
    waits: Vec<InstanceId>,
    /// All that have been given a unit from the queue.
    grants: Vec<InstanceId>,
    storages: BTreeMap<StorageId, PlayedStorage>,
    /// Idempotency key → the storage that it created.
    keys: BTreeMap<String, StorageId>,
    /// With the mode of each.
    attachments: BTreeMap<(StorageId, InstanceId), String>,
    members: BTreeMap<(TenantId, UserId), &'static str>,
    /// Addresses of users.
    emails: BTreeMap<UserId, String>,
}

#[derive(Clone, Copy)]
struct PlayedStorage {
    tenant: TenantId,
    kind: &'static str,
    /// Whether it is in the second cluster.
    in_other: bool,
}

/// How the services respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Well,
    /// As a load balancer without replicas.
    Away,
    /// Requests are accepted and never answered.
    Hung,
    /// Every response is a page of something else.
    Nonsense,
}

pub(crate) struct Neighbours {
    spec: GpuSpecId,
    large_spec: GpuSpecId,
    pub(crate) datacenter: DatacenterId,
    /// In the second cluster.
    pub(crate) other_datacenter: DatacenterId,
    base: String,
    holdings: Mutex<Holdings>,
    condition: Mutex<Condition>,
    /// Whether units can be held.
    pub(crate) holds: AtomicBool,
    granted: tokio::sync::Notify,
    /// Calls to claims: what was asked of the stock service.
    pub(crate) claim_calls: AtomicUsize,
    /// Seconds within which an instance leaves its unit that another one has taken.
    pub(crate) leave_seconds: AtomicI64,
}

#[derive(Clone)]
struct Played(Arc<Neighbours>, AuthState);

impl HasAuth for Played {
    fn auth(&self) -> &AuthState {
        &self.1
    }
}

impl Neighbours {
    pub(crate) async fn start(issuer: &Issuer) -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let played = Arc::new(Self {
            spec: GpuSpecId::new(),
            large_spec: GpuSpecId::new(),
            datacenter: DatacenterId::new(),
            other_datacenter: DatacenterId::new(),
            base: format!("http://{}", listener.local_addr().unwrap()),
            holdings: Mutex::default(),
            condition: Mutex::new(Condition::Well),
            holds: AtomicBool::new(true),
            granted: tokio::sync::Notify::new(),
            claim_calls: AtomicUsize::new(0),
            leave_seconds: AtomicI64::new(15),
        });
        let state = Played(Arc::clone(&played), issuer.auth());
        let router = Router::new()
            .route("/internal/v1/gpu-specs/{id}", get(gpu_spec))
            .route("/internal/v1/claims", post(claim))
            .route("/internal/v1/claims/{id}", get(claimed).delete(release).patch(set_rank))
            .route("/internal/v1/queue", get(entries))
            .route("/internal/v1/queue/{id}", put(claim_or_wait))
            .route("/internal/v1/queue-grants", get(grants))
            .route("/internal/v1/quotes", get(quote))
            .route("/v1/datacenters/{id}", get(datacenter))
            .route("/internal/v1/datacenters/{id}", get(datacenter_for_service))
            .route("/v1/storages", post(create_storage))
            .route("/v1/storages/{id}", get(storage))
            .route("/v1/storage-specs/{id}", get(storage_spec))
            .route("/internal/v1/storages/{id}/attachments/{instance}", put(attach).delete(detach))
            .route("/internal/v1/tenants/{id}/members/{user}", get(rights))
            .route("/v1/me", get(me))
            .layer(middleware::from_fn_with_state(state.clone(), there))
            .with_state(state);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        played
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint { url: self.base.parse().unwrap(), token: service_token("gpu").into() }
    }

    fn holdings(&self) -> std::sync::MutexGuard<'_, Holdings> {
        self.holdings.lock().unwrap()
    }

    /// Sets what the identity service says of a user.
    pub(crate) fn set_role(&self, tenant: TenantId, user: UserId, role: Option<&'static str>) {
        let mut holdings = self.holdings();
        match role {
            Some(role) => holdings.members.insert((tenant, user), role),
            None => holdings.members.remove(&(tenant, user)),
        };
    }

    pub(crate) fn set_email(&self, user: UserId, email: &str) {
        self.holdings().emails.insert(user, email.to_owned());
    }

    pub(crate) fn add_unit(&self, unit: UnitId) {
        self.holdings().units.push(unit);
    }

    /// The unit is not given out any more.
    pub(crate) fn withdraw_unit(&self, name: &str) {
        self.holdings().units.retain(|unit| unit.k8s_name() != name);
    }

    pub(crate) fn add_unit_in_other(&self, unit: UnitId) {
        let mut holdings = self.holdings();
        holdings.units.push(unit);
        holdings.other_units.insert(unit);
    }

    pub(crate) fn add_storage(&self, tenant: TenantId) -> StorageId {
        self.insert_storage(PlayedStorage { tenant, kind: "volume", in_other: false })
    }

    pub(crate) fn add_storage_in_other(&self, tenant: TenantId) -> StorageId {
        self.insert_storage(PlayedStorage { tenant, kind: "volume", in_other: true })
    }

    pub(crate) fn add_bucket(&self, tenant: TenantId) -> StorageId {
        self.insert_storage(PlayedStorage { tenant, kind: "bucket", in_other: false })
    }

    fn insert_storage(&self, storage: PlayedStorage) -> StorageId {
        let id = StorageId::new();
        self.holdings().storages.insert(id, storage);
        id
    }

    /// Storages that exist.
    pub(crate) fn storages(&self) -> usize {
        self.holdings().storages.len()
    }

    /// The mode in which an instance has attached a storage.
    pub(crate) fn attachment(&self, storage: StorageId, instance: InstanceId) -> Option<String> {
        self.holdings().attachments.get(&(storage, instance)).cloned()
    }

    pub(crate) fn remove_storage(&self, id: StorageId) {
        self.holdings().storages.remove(&id);
    }

    pub(crate) fn be(&self, condition: Condition) {
        *self.condition.lock().unwrap() = condition;
    }

    pub(crate) fn claim_of(&self, instance: InstanceId) -> Option<UnitId> {
        self.holdings().claims.get(&instance).map(|(unit, _)| *unit)
    }

    fn claim(&self, instance: InstanceId, unit: UnitId, claimed_at: Timestamp, other: bool) -> Value {
        let (datacenter, name, cluster) = if other {
            (self.other_datacenter, "dev-2", OTHER_CLUSTER)
        } else {
            (self.datacenter, "dev-1", CLUSTER)
        };
        json!({
            "instance_id": instance, "tenant_id": TenantId::new(), "unit_id": unit, "unit_name": unit.k8s_name(),
            "gpu_spec_id": self.spec, "gpu_spec_name": SPEC, "datacenter_id": datacenter,
            "datacenter_name": name, "cluster": cluster, "node": "node-1", "price_per_hour": PRICE,
            "currency": "EUR", "hold_price_fraction": self.hold_price_fraction(), "claimed_at": claimed_at,
        })
    }

    /// The claim of an instance that has taken the unit of another one.
    fn recalling(
        &self,
        holdings: &Holdings,
        instance: InstanceId,
        unit: UnitId,
        claimed_at: Timestamp,
    ) -> Value {
        let mut claim = self.claim(instance, unit, claimed_at, holdings.other_units.contains(&unit));
        let (displaced, leave_by) = holdings.recalls[&instance];
        claim["recall"] = json!({ "instance_id": displaced, "leave_by": leave_by });
        claim
    }

    /// The rank of an interruptible claim.
    pub(crate) fn rank_of(&self, instance: InstanceId) -> Option<i16> {
        self.holdings().interruptible.get(&instance).copied()
    }

    /// As if another instance, which this service has not heard of, had taken the unit of an interruptible one.
    pub(crate) fn take_from(&self, instance: InstanceId) {
        let mut holdings = self.holdings();
        let (unit, _) = holdings.claims.remove(&instance).unwrap();
        holdings.claims.insert(InstanceId::new(), (unit, Timestamp::now()));
    }

    fn find_datacenter(&self, id_or_name: &str) -> Result<Datacenter, Problem> {
        let known = [(self.datacenter, "dev-1"), (self.other_datacenter, "dev-2")];
        let found = known.iter().find(|(id, name)| id_or_name == *name || id_or_name == id.to_string());
        let (id, name) = found.ok_or_else(Problem::not_found)?;
        Ok(Datacenter {
            id: *id,
            name: (*name).to_owned(),
            region: "uk".to_owned(),
            cluster: (*name).to_owned(),
            labels: BTreeMap::new(),
            state: DatacenterState::Active,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            generation: 1,
        })
    }

    fn hold_price_fraction(&self) -> Value {
        if self.holds.load(Ordering::SeqCst) { json!(HOLD_PRICE_FRACTION) } else { Value::Null }
    }

    fn alternatives(&self) -> Value {
        json!([{ "gpu_spec": { "id": self.spec, "name": "4090-small-8-1" },
            "datacenter": { "id": self.datacenter, "name": "dev-1" },
            "available": 2, "price_per_hour": "0.6", "currency": "EUR" }])
    }

    /// As if a claim arrived that was sent long ago.
    pub(crate) fn claim_late(&self, instance: InstanceId) {
        let mut holdings = self.holdings();
        let unit = holdings.units[0];
        holdings.claims.insert(instance, (unit, Timestamp::now()));
    }

    /// As if a unit was given to an instance that does not wait any more.
    pub(crate) fn grant_late(&self, instance: InstanceId) {
        self.claim_late(instance);
        self.holdings().grants.push(instance);
        self.granted.notify_waiters();
    }

    pub(crate) fn waits(&self) -> usize {
        self.holdings().waits.len()
    }

    pub(crate) fn claims(&self) -> usize {
        self.holdings().claims.len()
    }

    pub(crate) fn attachments(&self) -> usize {
        self.holdings().attachments.len()
    }
}

async fn there(State(Played(played, _)): State<Played>, request: Request, next: Next) -> Response {
    let condition = *played.condition.lock().unwrap();
    match condition {
        Condition::Well => next.run(request).await,
        Condition::Away => StatusCode::BAD_GATEWAY.into_response(),
        Condition::Hung => std::future::pending().await,
        Condition::Nonsense => Html("<h1>Welcome to nginx!</h1>").into_response(),
    }
}

async fn gpu_spec(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path(id): Path<String>,
) -> Result<Json<GpuSpec>, Problem> {
    let held = played.holds.load(Ordering::SeqCst).then(|| HOLD_PRICE_FRACTION.parse().unwrap());
    let spec = GpuSpec {
        id: played.spec,
        name: SPEC.to_owned(),
        gpu_model: "RTX 3080".to_owned(),
        gpu_count: 1,
        gpu_cores: 8704,
        video_memory_mib: 10_240,
        cpu_millis: 4000,
        memory_mib: 8192,
        disk_gib: 50,
        price_per_hour: PRICE.parse().unwrap(),
        currency: "EUR".to_owned(),
        hold_price_fraction: held,
        allocation: Allocation::Device { resource: "nvidia.com/gpu".to_owned() },
        node_selector: BTreeMap::new(),
        state: GpuSpecState::Active,
        summary: "1 GPU".to_owned(),
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        generation: 1,
    };
    match id.as_str() {
        SPEC => Ok(Json(spec)),
        "retired" => Ok(Json(GpuSpec { state: GpuSpecState::Retired, ..spec })),
        LARGE_SPEC => Ok(Json(GpuSpec {
            id: played.large_spec,
            name: LARGE_SPEC.to_owned(),
            gpu_count: 2,
            price_per_hour: "0.72".parse().unwrap(),
            hold_price_fraction: None,
            ..spec
        })),
        other if other == played.spec.to_string() => Ok(Json(spec)),
        _ => Err(Problem::not_found()),
    }
}

async fn claim(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Json(request): Json<ClaimRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    played.claim_calls.fetch_add(1, Ordering::SeqCst);
    assert!([played.spec, played.large_spec].contains(&request.gpu_spec_id));
    let mut holdings = played.holdings();
    let held = holdings.claims.get(&request.instance_id).copied();
    let in_other = request.datacenter_id == Some(played.other_datacenter);
    let is_free = |unit: &&UnitId| {
        holdings.other_units.contains(unit) == in_other && !holdings.claims.values().any(|(u, _)| u == *unit)
    };
    let free = holdings.units.iter().find(is_free).copied();
    let lent = holdings.interruptible.keys().find(|lent| holdings.claims.contains_key(*lent)).copied();
    if let (None, None, Some(lent), false) = (held, free, lent, request.interruptible) {
        let (unit, _) = holdings.claims.remove(&lent).unwrap();
        let (now, leave_seconds) = (Timestamp::now(), played.leave_seconds.load(Ordering::SeqCst));
        holdings.claims.insert(request.instance_id, (unit, now));
        let leave_by = now + jiff::SignedDuration::from_secs(leave_seconds);
        holdings.recalls.insert(request.instance_id, (lent, leave_by));
        return Ok((StatusCode::CREATED, Json(played.recalling(&holdings, request.instance_id, unit, now))));
    }
    let Some(claimed) = held.or(free.map(|unit| (unit, Timestamp::now()))) else {
        return Err(Problem::new(ProblemType::StockExhausted, "No unit is free.")
            .with("alternatives", played.alternatives())
            .with("waiting", 1));
    };
    holdings.claims.insert(request.instance_id, claimed);
    if request.interruptible {
        holdings.interruptible.insert(request.instance_id, 0);
    }
    if holdings.recalls.contains_key(&request.instance_id) {
        return Ok((
            StatusCode::OK,
            Json(played.recalling(&holdings, request.instance_id, claimed.0, claimed.1)),
        ));
    }
    let status = if held.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    let other = holdings.other_units.contains(&claimed.0);
    Ok((status, Json(played.claim(request.instance_id, claimed.0, claimed.1, other))))
}

async fn claimed(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path(id): Path<InstanceId>,
) -> Result<Json<Value>, Problem> {
    let holdings = played.holdings();
    let (unit, since) = holdings.claims.get(&id).copied().ok_or_else(Problem::not_found)?;
    Ok(Json(played.claim(id, unit, since, holdings.other_units.contains(&unit))))
}

async fn set_rank(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path(id): Path<InstanceId>,
    Json(patch): Json<ClaimPatch>,
) -> Result<StatusCode, Problem> {
    let mut holdings = played.holdings();
    let is_current = holdings.claims.get(&id).is_some_and(|held| held.1 == patch.claimed_at);
    let rank = holdings.interruptible.get_mut(&id).filter(|_| is_current).ok_or_else(Problem::not_found)?;
    *rank = patch.recall_rank;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseQuery {
    claimed_at: Timestamp,
    #[serde(rename = "attempt")]
    _attempt: i64,
}

async fn release(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path(id): Path<InstanceId>,
    Query(query): Query<ReleaseQuery>,
) -> StatusCode {
    let mut holdings = played.holdings();
    if holdings.claims.get(&id).is_some_and(|held| held.1 == query.claimed_at) {
        let (unit, _) = holdings.claims.remove(&id).unwrap();
        if !holdings.waits.is_empty() {
            let next = holdings.waits.remove(0);
            holdings.claims.insert(next, (unit, Timestamp::now()));
            holdings.grants.push(next);
            played.granted.notify_waiters();
        }
    }
    holdings.waits.retain(|waits| *waits != id);
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuoteQuery {
    gpu_spec_id: GpuSpecId,
    #[serde(default, rename = "datacenter_id")]
    _datacenter_id: Option<DatacenterId>,
}

async fn quote(
    State(Played(played, _)): State<Played>,
    _: OnBehalf,
    Query(query): Query<QuoteQuery>,
) -> Json<Value> {
    assert_eq!(query.gpu_spec_id, played.spec);
    let holdings = played.holdings();
    let available = holdings.units.len() - holdings.claims.len();
    let alternatives = if available == 0 { played.alternatives() } else { json!([]) };
    Json(json!({ "available": available, "draining": false, "waiting": holdings.waits.len(),
        "estimate": null, "alternatives": alternatives }))
}

async fn datacenter(
    State(Played(played, _)): State<Played>,
    _: User,
    Path(id_or_name): Path<String>,
) -> Result<Json<Datacenter>, Problem> {
    played.find_datacenter(&id_or_name).map(Json)
}

async fn datacenter_for_service(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path(id_or_name): Path<String>,
) -> Result<Json<Datacenter>, Problem> {
    played.find_datacenter(&id_or_name).map(Json)
}

async fn me(State(Played(played, _)): State<Played>, User(user): User) -> Result<Json<Value>, Problem> {
    let email = played.holdings().emails.get(&user.user).cloned().ok_or_else(Problem::not_found)?;
    Ok(Json(json!({ "user": { "id": user.user, "email": email } })))
}

async fn rights(
    State(Played(played, _)): State<Played>,
    _: Caller,
    Path((tenant, user)): Path<(TenantId, UserId)>,
) -> Result<Json<Value>, Problem> {
    let role = played.holdings().members.get(&(tenant, user)).copied().ok_or_else(Problem::not_found)?;
    Ok(Json(json!({ "role": role, "as_of": Timestamp::now() })))
}
