//! Devices by claim (dynamic resource allocation, structured parameters): a claim of one request is allocated from
//! the slices of one node and may be reserved for several pods, which then share the devices.

use super::fit::PodInfo;
use crate::controllers::claims::FINALIZER;
use crate::error::Failure;
use crate::hub::Hub;
use crate::schema::cel;
use crate::store::{Inner, Object};
use crate::verbs::{self, Write};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub(super) const CLAIMS: &str = "resourceclaims.resource.k8s.io";
pub(super) const SLICES: &str = "resourceslices.resource.k8s.io";
/// What keeps a pod with claims from a node that would suit otherwise.
pub(super) const MISFIT: &str = "cannot allocate all claims";
const CLASSES: &str = "deviceclasses.resource.k8s.io";

/// Driver, pool and name.
type Device = (String, String, String);

/// A claim without devices yet.
struct Open {
    claim: Arc<Object>,
    request: String,
    count: usize,
    /// The free devices that would do, by node.
    free: BTreeMap<String, Vec<Device>>,
}

/// What a pod's claims ask of its node.
#[derive(Default)]
pub(super) struct Plan {
    /// Where claims that are allocated already keep the pod.
    pinned: HashSet<String>,
    open: Vec<Open>,
    claims: Vec<Arc<Object>>,
}

impl Plan {
    pub(super) fn allows(&self, node: &str) -> bool {
        self.pinned.iter().all(|n| n == node) && self.choose(node).is_some()
    }

    /// Devices for each open claim, none given twice.
    fn choose(&self, node: &str) -> Option<Vec<Vec<Device>>> {
        let mut taken: HashSet<&Device> = HashSet::new();
        let mut all = Vec::new();
        for Open { count, free, .. } in &self.open {
            let picked: Vec<&Device> =
                free.get(node)?.iter().filter(|d| !taken.contains(d)).take(*count).collect();
            if picked.len() < *count {
                return None;
            }
            taken.extend(picked.iter().copied());
            all.push(picked.into_iter().cloned().collect());
        }
        Some(all)
    }
}

fn text(v: &Value) -> &str {
    v.as_str().unwrap_or("")
}

/// Names of the claims of a pod; the error says what is missing.
fn names(pod: &Value) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for entry in pod["spec"]["resourceClaims"].as_array().into_iter().flatten() {
        let made = pod["status"]["resourceClaimStatuses"].as_array().into_iter().flatten();
        let made = made.filter(|s| s["name"] == entry["name"]).find_map(|s| s["resourceClaimName"].as_str());
        match entry["resourceClaimName"].as_str().or(made) {
            Some(name) => all.push(name.to_owned()),
            None => {
                return Err(format!(
                    "waiting for the claim of template {}",
                    text(&entry["resourceClaimTemplateName"])
                ));
            }
        }
    }
    Ok(all)
}

/// The plan of a pod; `None` when it has no claims.
pub(super) fn plan(tx: &Inner, pod: &PodInfo) -> Result<Option<Plan>, String> {
    let names = names(&pod.object.value)?;
    if names.is_empty() {
        return Ok(None);
    }
    let mut plan = Plan::default();
    let used: HashSet<Device> = tx
        .list(CLAIMS, "")
        .flat_map(|c| {
            c.value["status"]["allocation"]["devices"]["results"].as_array().cloned().unwrap_or_default()
        })
        .map(|r| (text(&r["driver"]).to_owned(), text(&r["pool"]).to_owned(), text(&r["device"]).to_owned()))
        .collect();
    for name in names {
        let claim =
            tx.get(CLAIMS, &pod.key.0, &name).ok_or_else(|| format!("resourceclaim \"{name}\" not found"))?;
        if claim.terminating() {
            return Err(format!("resourceclaim \"{name}\" is being deleted"));
        }
        let allocation = &claim.value["status"]["allocation"];
        if allocation.is_object() {
            let at = &allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
            plan.pinned.insert(text(at).to_owned());
            let reserved = claim.value["status"]["reservedFor"].as_array().map_or(0, Vec::len);
            if reserved >= 256 {
                return Err(format!("resourceclaim \"{name}\" is reserved for as many users as can be"));
            }
        } else {
            plan.open.push(open(tx, &claim, &used)?);
        }
        plan.claims.push(claim);
    }
    Ok(Some(plan))
}

fn open(tx: &Inner, claim: &Arc<Object>, used: &HashSet<Device>) -> Result<Open, String> {
    let request = &claim.value["spec"]["devices"]["requests"][0];
    let exact = &request["exactly"];
    let class = text(&exact["deviceClassName"]);
    let class = tx
        .get(CLASSES, "", class)
        .ok_or_else(|| format!("request {}: device class {class} does not exist", text(&request["name"])))?;
    let count = usize::try_from(exact["count"].as_u64().unwrap_or(1)).unwrap_or(1);
    let sources = class.value["spec"]["selectors"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(exact["selectors"].as_array().into_iter().flatten());
    let rules: Vec<cel::Selector> =
        sources.map(|s| cel::Selector::compile(text(&s["cel"]["expression"]))).collect::<Result<_, _>>()?;
    let mut free: BTreeMap<String, Vec<Device>> = BTreeMap::new();
    for slice in tx.list(SLICES, "") {
        let spec = &slice.value["spec"];
        let (driver, pool) = (text(&spec["driver"]), text(&spec["pool"]["name"]));
        for device in spec["devices"].as_array().into_iter().flatten() {
            let id = (driver.to_owned(), pool.to_owned(), text(&device["name"]).to_owned());
            if used.contains(&id) {
                continue;
            }
            let mut fits = true;
            for rule in &rules {
                fits = fits && rule.matches(driver, device)?;
            }
            if fits {
                free.entry(text(&spec["nodeName"]).to_owned()).or_default().push(id);
            }
        }
    }
    Ok(Open { claim: claim.clone(), request: text(&request["name"]).to_owned(), count, free })
}

/// Allocates and reserves the claims of a pod that goes to a node, in the step that binds it.
pub(super) fn reserve(hub: &Hub, tx: &mut Inner, pod: &PodInfo, node: &str) -> Result<(), Failure> {
    let conflict = |why: &str| Failure::conflict("", "pods", &pod.key.1, why);
    let Some(plan) = plan(tx, pod).map_err(|why| conflict(&why))? else { return Ok(()) };
    let chosen = plan
        .choose(node)
        .filter(|_| plan.pinned.iter().all(|n| n == node))
        .ok_or_else(|| conflict("the devices were taken"))?;
    let resource = hub.kind(CLAIMS);
    for claim in &plan.claims {
        let mut value = claim.value.clone();
        if let Some(i) = plan.open.iter().position(|o| o.claim.uid() == claim.uid()) {
            let request = &plan.open[i].request;
            let results: Vec<Value> = chosen[i]
                .iter()
                .map(|(driver, pool, device)| json!({ "request": request, "driver": driver, "pool": pool, "device": device }))
                .collect();
            value["status"]["allocation"] = json!({
                "devices": { "results": results },
                "nodeSelector": { "nodeSelectorTerms": [{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node] }] }] },
            });
            let mut finalizers = value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            if !finalizers.iter().any(|f| f == FINALIZER) {
                finalizers.push(FINALIZER.into());
            }
            value["metadata"]["finalizers"] = finalizers.into();
        }
        let mut reserved = value["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
        if !reserved.iter().any(|r| r["uid"] == pod.uid.as_str()) {
            reserved.push(json!({ "resource": "pods", "name": pod.key.1, "uid": pod.uid }));
        }
        value["status"]["reservedFor"] = reserved.into();
        let w = Write::internal(&resource, claim.namespace(), claim.name(), "kube-scheduler").status();
        verbs::system_update(tx, &w, claim, value)?;
    }
    Ok(())
}

/// For a pod that no node takes: a claim that keeps it to a node gives its devices back, if nobody else uses it.
pub(super) fn release(hub: &Hub, pod: &PodInfo, plan: &Plan) {
    let resource = hub.kind(CLAIMS);
    let mut tx = hub.store.lock();
    for claim in &plan.claims {
        let Some(current) = tx.get(CLAIMS, claim.namespace(), claim.name()).filter(|c| c.rv == claim.rv)
        else {
            continue;
        };
        let users = current.value["status"]["reservedFor"].as_array().map(Vec::as_slice).unwrap_or_default();
        let alone = match users {
            [] => true,
            [only] => only["uid"] == pod.uid.as_str(),
            _ => false,
        };
        if !current.value["status"]["allocation"].is_object() || !alone {
            continue;
        }
        let mut value = current.value.clone();
        if let Some(status) = value["status"].as_object_mut() {
            for field in ["allocation", "reservedFor", "devices"] {
                status.shift_remove(field);
            }
        }
        let w = Write::internal(&resource, claim.namespace(), claim.name(), "kube-scheduler").status();
        if let Err(error) = verbs::system_update(&mut tx, &w, &current, value) {
            tracing::debug!(%error, claim = claim.name(), "claim not released");
        }
        return;
    }
}
