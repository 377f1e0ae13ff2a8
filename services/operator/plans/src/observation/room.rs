//! Whether a pod fits on a node in addition to the existing pods, by the rules of the scheduler that concern
//! units: cordon, taints, labels and resources.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, PodSpec, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Taints that the cluster gives to a node that is not ready.
pub const NOT_READY: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Thousandths of each resource, by its name.
type Amounts = BTreeMap<String, i128>;

/// Returns why `wanted` does not fit on `node` in addition to `others`, as a message; `None` if it fits.
#[must_use]
pub fn why_no_room<'a>(
    node: &Node,
    others: impl Iterator<Item = &'a PodSpec>,
    wanted: &PodSpec,
) -> Option<String> {
    let spec = node.spec.clone().unwrap_or_default();
    if spec.unschedulable == Some(true) {
        return Some("it is cordoned".to_owned());
    }
    let tolerations = wanted.tolerations.as_deref().unwrap_or_default();
    // other code decides how long a node may be not ready
    let taints = spec.taints.iter().flatten().filter(|taint| !NOT_READY.contains(&taint.key.as_str()));
    let taint = taints.into_iter().find(|taint| repels(taint, tolerations));
    if let Some(taint) = taint {
        return Some(format!("it has the taint {}", taint.key));
    }
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let selector = wanted.node_selector.clone().unwrap_or_default();
    if let Some((label, value)) = selector.iter().find(|(label, value)| labels.get(*label) != Some(value)) {
        return Some(format!("it does not have the label {label}={value}"));
    }
    let all = amounts(node.status.as_ref().and_then(|status| status.allocatable.as_ref()));
    let mut free = all.clone();
    for pod in others {
        for (resource, used) in requests(pod) {
            *free.entry(resource).or_default() -= used;
        }
    }
    let wanted = requests(wanted);
    // a resource that the node does not have at all is not used by others: its device plugin may be starting
    let missing = wanted.iter().filter(|(resource, amount)| {
        let has = |amounts: &Amounts| amounts.get(*resource).copied().unwrap_or(0);
        has(&free) < **amount && has(&all) > 0
    });
    let missing: Vec<&str> = missing.map(|(resource, _)| resource.as_str()).collect();
    (!missing.is_empty()).then(|| format!("other pods use it: insufficient {}", missing.join(", ")))
}

/// Whether the taint keeps new pods with these tolerations away.
fn repels(taint: &Taint, tolerations: &[Toleration]) -> bool {
    let tolerates = |toleration: &Toleration| {
        let key = toleration.key.as_deref().unwrap_or_default();
        let is_any = toleration.operator.as_deref() == Some("Exists");
        (key == taint.key || (key.is_empty() && is_any))
            && toleration.effect.as_ref().is_none_or(|effect| effect.is_empty() || *effect == taint.effect)
            && (is_any
                || toleration.value.as_deref().unwrap_or_default()
                    == taint.value.as_deref().unwrap_or_default())
    };
    taint.effect != "PreferNoSchedule" && !tolerations.iter().any(tolerates)
}

/// The requests of a pod: the sum of its containers and sidecars, at least the maximum of its init containers, and its
/// overhead. Requests of the whole pod replace that sum.
fn requests(spec: &PodSpec) -> Amounts {
    let of = |container: &Container| {
        amounts(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
    };
    let mut sum = Amounts::from([("pods".to_owned(), 1000)]);
    spec.containers.iter().for_each(|container| add(&mut sum, of(container)));
    let mut most = Amounts::new();
    let mut sidecars = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let mut together = sidecars.clone();
        add(&mut together, of(container));
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars = together.clone();
        }
        raise(&mut most, together);
    }
    add(&mut sum, sidecars);
    raise(&mut sum, most);
    sum.extend(amounts(spec.resources.as_ref().and_then(|resources| resources.requests.as_ref())));
    add(&mut sum, amounts(spec.overhead.as_ref()));
    sum
}

fn amounts(quantities: Option<&BTreeMap<String, Quantity>>) -> Amounts {
    let read = |(resource, quantity): (&String, &Quantity)| {
        let quantity: crds::Quantity = quantity.0.parse().ok()?;
        Some((resource.clone(), quantity.milli()))
    };
    quantities.into_iter().flatten().filter_map(read).collect()
}

fn add(sum: &mut Amounts, more: Amounts) {
    for (resource, amount) in more {
        *sum.entry(resource).or_default() += amount;
    }
}

fn raise(most: &mut Amounts, other: Amounts) {
    for (resource, amount) in other {
        let known = most.entry(resource).or_default();
        *known = amount.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(change: &Value) -> Node {
        let mut node = json!({
            "metadata": {"labels": {"zone": "a"}},
            "spec": {},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2", "pods": "3"}},
        });
        for (key, value) in change.as_object().unwrap() {
            node["spec"][key] = value.clone();
        }
        serde_json::from_value(node).unwrap()
    }

    fn pod(requests: &Value) -> PodSpec {
        let container = json!({"name": "main", "resources": {"requests": requests}});
        serde_json::from_value(json!({"containers": [container]})).unwrap()
    }

    fn refusal(node: &Node, others: &[PodSpec], wanted: &PodSpec) -> Option<String> {
        why_no_room(node, others.iter(), wanted)
    }

    #[test]
    fn a_pod_fits_up_to_the_last_of_each_resource() {
        let wanted = pod(&json!({"cpu": "1500m", "nvidia.com/gpu": "1"}));
        let node = node(&json!({}));
        let other = pod(&json!({"cpu": "2500m", "memory": "8Gi", "nvidia.com/gpu": "1"}));
        assert_eq!(refusal(&node, std::slice::from_ref(&other), &wanted), None);
        let gpu = pod(&json!({"nvidia.com/gpu": "1", "cpu": "1m"}));
        let why = refusal(&node, &[other, gpu], &wanted).unwrap();
        assert_eq!(why, "other pods use it: insufficient cpu, nvidia.com/gpu");
        let empty = pod(&json!({}));
        let full = [empty.clone(), empty.clone(), empty.clone()];
        assert_eq!(refusal(&node, &full, &empty).unwrap(), "other pods use it: insufficient pods");
    }

    #[test]
    fn a_node_that_is_starting_is_not_used_by_others() {
        let wanted = pod(&json!({"nvidia.com/gpu": "1"}));
        let mut starting = node(&json!({"taints": [{"key": NOT_READY[0], "effect": "NoSchedule"}]}));
        let allocatable = starting.status.as_mut().unwrap().allocatable.as_mut().unwrap();
        allocatable.insert("nvidia.com/gpu".to_owned(), Quantity("0".to_owned()));
        assert_eq!(refusal(&starting, &[], &wanted), None);
    }

    #[test]
    fn a_node_that_repels_the_pod_has_no_room() {
        let mut wanted = pod(&json!({}));
        assert_eq!(refusal(&node(&json!({"unschedulable": true})), &[], &wanted).unwrap(), "it is cordoned");
        let taint =
            |effect: &str| node(&json!({"taints": [{"key": "gpu", "value": "yes", "effect": effect}]}));
        assert_eq!(refusal(&taint("NoSchedule"), &[], &wanted).unwrap(), "it has the taint gpu");
        assert_eq!(refusal(&taint("PreferNoSchedule"), &[], &wanted), None);
        let mut tolerate = |toleration: Value| {
            wanted.tolerations = Some(vec![serde_json::from_value(toleration).unwrap()]);
            refusal(&taint("NoExecute"), &[], &wanted).is_none()
        };
        assert!(tolerate(json!({"key": "gpu", "operator": "Exists"})));
        assert!(tolerate(json!({"operator": "Exists"})));
        assert!(tolerate(json!({"key": "gpu", "value": "yes", "effect": "NoExecute"})));
        assert!(!tolerate(json!({"key": "gpu", "value": "no"})));
        assert!(!tolerate(json!({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"})));
        assert!(!tolerate(json!({"key": "cpu", "operator": "Exists"})));

        let mut elsewhere = pod(&json!({}));
        elsewhere.node_selector = Some([("zone".to_owned(), "b".to_owned())].into());
        assert_eq!(refusal(&node(&json!({})), &[], &elsewhere).unwrap(), "it does not have the label zone=b");
    }

    #[test]
    fn a_pod_requests_the_most_that_it_needs_at_any_time() {
        let container = |cpu: &str, sidecar: bool| {
            let policy = sidecar.then_some("Always");
            json!({"name": cpu, "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}})
        };
        let cpu = |init: &[Value], more: Value| {
            let mut spec = json!({"containers": [container("1", false), container("2", false)]});
            spec["initContainers"] = json!(init);
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            requests(&serde_json::from_value(spec).unwrap())["cpu"]
        };
        assert_eq!(cpu(&[], json!({})), 3000);
        assert_eq!(cpu(&[container("5", false), container("4", false)], json!({})), 5000);
        assert_eq!(cpu(&[container("2", true), container("4", false)], json!({})), 6000);
        assert_eq!(cpu(&[container("2", true)], json!({})), 5000);
        assert_eq!(cpu(&[], json!({"overhead": {"cpu": "500m"}})), 3500);
        assert_eq!(cpu(&[], json!({"resources": {"requests": {"cpu": "7"}}})), 7000);
    }
}
