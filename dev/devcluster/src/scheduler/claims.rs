//! Dynamic resource allocation: a claim gets devices from the slices of one node, and may be reserved for several pods,
//! which share the devices.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use objects::error::Failure;
use objects::json::{items, text};
use objects::resource_claim::{CLAIMS, FINALIZER};
use objects::schema::cel;
use objects::store::{Inner, Object};
use serde_json::{Value, json};

use super::fit::PodInfo;
use crate::verbs::system;

pub(super) const SLICES: &str = "resourceslices.resource.k8s.io";
/// The reason why a pod with claims does not fit a node.
pub(super) const MISFIT: &str = "cannot allocate all claims";
const CLASSES: &str = "deviceclasses.resource.k8s.io";

/// Driver, pool and name.
type Device = (String, String, String);

/// A claim that is not allocated.
struct Open {
    claim: Arc<Object>,
    request: String,
    count: usize,
    /// Free devices that match, by node.
    free: BTreeMap<String, Vec<Device>>,
}

/// The requirements of a pod's claims on its node.
#[derive(Default)]
pub(super) struct Plan {
    /// The nodes of the allocated claims.
    pinned: HashSet<String>,
    open: Vec<Open>,
    claims: Vec<Arc<Object>>,
}

impl Plan {
    pub(super) fn allows(&self, node: &str) -> bool {
        self.pinned.iter().all(|n| n == node) && self.choose(node).is_some()
    }

    /// Devices for each open claim, no device twice.
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

/// Names of the claims of a pod.
fn names(pod: &Value) -> Vec<&str> {
    items(&pod["spec"]["resourceClaims"]).iter().map(|entry| text(&entry["resourceClaimName"])).collect()
}

/// The plan of a pod; `None` if it has no claims.
///
/// # Errors
/// Says what the pod waits for.
pub(super) fn plan(tx: &Inner, pod: &PodInfo) -> Result<Option<Plan>, String> {
    let names = names(&pod.object.value);
    if names.is_empty() {
        return Ok(None);
    }
    let mut plan = Plan::default();
    let used: HashSet<Device> = tx
        .list(CLAIMS, "")
        .flat_map(|c| items(&c.value["status"]["allocation"]["devices"]["results"]).to_vec())
        .map(|r| (text(&r["driver"]).to_owned(), text(&r["pool"]).to_owned(), text(&r["device"]).to_owned()))
        .collect();
    for name in names {
        let claim =
            tx.get(CLAIMS, &pod.key.0, name).ok_or_else(|| format!("resourceclaim \"{name}\" not found"))?;
        if claim.terminating() {
            return Err(format!("resourceclaim \"{name}\" is being deleted"));
        }
        let allocation = &claim.value["status"]["allocation"];
        if allocation.is_object() {
            let at = &allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
            plan.pinned.insert(text(at).to_owned());
            let reserved = claim.value["status"]["reservedFor"].as_array().map_or(0, Vec::len);
            if reserved >= 256 {
                return Err(format!("resourceclaim \"{name}\" has the maximum number of users"));
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
    let sources = items(&class.value["spec"]["selectors"]).iter().chain(items(&exact["selectors"]).iter());
    let rules: Vec<cel::Selector> =
        sources.map(|s| cel::Selector::compile(text(&s["cel"]["expression"]))).collect::<Result<_, _>>()?;
    let mut free: BTreeMap<String, Vec<Device>> = BTreeMap::new();
    for slice in tx.list(SLICES, "") {
        let spec = &slice.value["spec"];
        let (driver, pool) = (text(&spec["driver"]), text(&spec["pool"]["name"]));
        for device in items(&spec["devices"]) {
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

/// Allocates and reserves the claims of a pod that is bound to a node.
pub(super) fn reserve(tx: &mut Inner, pod: &PodInfo, node: &str) -> Result<(), Failure> {
    let conflict = |why: &str| Failure::conflict("", "pods", &pod.key.1, why);
    let Some(plan) = plan(tx, pod).map_err(|why| conflict(&why))? else { return Ok(()) };
    let chosen = plan
        .choose(node)
        .filter(|_| plan.pinned.iter().all(|n| n == node))
        .ok_or_else(|| conflict("the devices are in use"))?;
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
            let mut finalizers = items(&value["metadata"]["finalizers"]).to_vec();
            finalizers.retain(|f| f != FINALIZER);
            finalizers.push(FINALIZER.into());
            value["metadata"]["finalizers"] = finalizers.into();
        }
        let mut reserved = items(&value["status"]["reservedFor"]).to_vec();
        if !reserved.iter().any(|r| r["uid"] == pod.uid.as_str()) {
            reserved.push(json!({ "resource": "pods", "name": pod.key.1, "uid": pod.uid }));
        }
        value["status"]["reservedFor"] = reserved.into();
        system::update_status(tx, CLAIMS, claim, value, "kube-scheduler");
    }
    Ok(())
}
