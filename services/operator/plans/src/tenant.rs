//! The namespaces of instances and the objects in them, as values: a service account, network policies, a quota and
//! a Pod Security level.

use std::collections::BTreeMap;

use crds::{GpuUnit, names};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::object_names::SERVICE_ACCOUNT;
use crate::settings::Settings;
use crate::unit::meta::{owner_reference, short_hash};

/// Annotation on applied objects: hash of what was applied.
pub const ANNOTATION_APPLIED: &str = "atelier.dev/applied";
/// Label of Pod Security admission.
pub const LABEL_ENFORCE: &str = "pod-security.kubernetes.io/enforce";

/// The address of NodeLocal DNSCache.
const NODE_LOCAL_DNS: &str = "169.254.20.10/32";

/// Most pods in a unit's namespace: two placeholders, an instance pod and its predecessor, and some spare.
const UNIT_PODS: u32 = 8;

/// The owner of a namespace.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// A tenant, by name.
    Tenant(&'a str),
    /// A unit's own, see [`crate::unit::devices`]. It is deleted with the unit.
    Unit(&'a GpuUnit),
}

impl Owner<'_> {
    /// Name of the namespace.
    #[must_use]
    pub fn namespace(self) -> String {
        match self {
            Self::Tenant(name) => name.to_owned(),
            Self::Unit(unit) => unit.name_any(),
        }
    }
}

/// One object of a namespace, ready to apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// `Namespace`, `ServiceAccount`, `NetworkPolicy` or `ResourceQuota`.
    pub kind: &'static str,
    /// Name.
    pub name: String,
    /// Hash of the body, also in its annotation.
    pub hash: String,
    /// The complete object.
    pub body: Value,
}

impl Object {
    /// The key of the object in the cache.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// The objects of a namespace, the namespace first, then the service account.
#[must_use]
pub fn objects(owner: Owner<'_>, root_inside: bool, settings: &Settings) -> Vec<Object> {
    let namespace = owner.namespace();
    let level = if root_inside { "baseline" } else { "restricted" };
    let (label, pods) = match owner {
        Owner::Tenant(_) => (names::LABEL_TENANT, settings.tenant_pods),
        Owner::Unit(_) => (names::LABEL_UNIT, UNIT_PODS),
    };
    let labels = json!({
        "app.kubernetes.io/managed-by": names::MANAGER_OPERATOR,
        (label): namespace,
    });
    let mut namespace_labels = labels.clone();
    for (label, value) in [
        (LABEL_ENFORCE, level),
        ("pod-security.kubernetes.io/warn", level),
        ("pod-security.kubernetes.io/audit", "restricted"),
    ] {
        namespace_labels[label] = json!(value);
    }
    let mut metadata = json!({"name": namespace, "labels": namespace_labels});
    if let Owner::Unit(unit) = owner {
        metadata["ownerReferences"] = json!([owner_reference(unit)]);
    }
    let policy = |name: &str, spec: Value| {
        let metadata = json!({"name": name, "namespace": namespace, "labels": labels});
        object(
            "NetworkPolicy",
            name,
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}),
        )
    };
    // a unit has its namespace for instances of all tenants, one after another
    let tenant = match owner {
        Owner::Tenant(name) => Some(name),
        Owner::Unit(unit) => unit.spec.instance.as_ref().map(|instance| instance.tenant_id.as_str()),
    };
    let among_peers = tenant.map(|tenant| {
        let peers = json!({"matchLabels": {
            (names::LABEL_ROLE): names::ROLE_INSTANCE,
            (names::LABEL_TENANT): tenant,
            (names::LABEL_PEERS): "true",
        }});
        // peers with claimed devices are in the namespaces of their units
        let ours = json!({"matchLabels": {"app.kubernetes.io/managed-by": names::MANAGER_OPERATOR}});
        let others = json!([{"namespaceSelector": ours, "podSelector": peers}]);
        policy(
            "among-peers",
            json!({
                "podSelector": peers,
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": others}],
                "egress": [{"to": others}],
            }),
        )
    });
    let (v6, v4): (Vec<&String>, Vec<&String>) =
        settings.private_ranges.iter().partition(|range| range.contains(':'));
    let mut all = vec![
        object(
            "Namespace",
            &namespace,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}),
        ),
        object(
            "ServiceAccount",
            SERVICE_ACCOUNT,
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": SERVICE_ACCOUNT, "namespace": namespace, "labels": labels},
                "automountServiceAccountToken": false,
            }),
        ),
        policy("default-deny", json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]})),
        policy(
            "from-gateway",
            json!({
                "podSelector": {"matchLabels": {(names::LABEL_ROLE): names::ROLE_INSTANCE}},
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [{
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": settings.gateway_namespace}},
                    "podSelector": {"matchLabels": {"app.kubernetes.io/name": settings.gateway_name}},
                }]}],
            }),
        ),
        policy(
            "to-internet",
            json!({
                // downloads read from the object store, at the address that instances use as well
                "podSelector": {"matchExpressions": [{
                    "key": names::LABEL_ROLE, "operator": "In",
                    "values": [names::ROLE_INSTANCE, names::ROLE_DOWNLOAD],
                }]},
                "policyTypes": ["Egress"],
                "egress": [
                    {
                        "to": [
                            {
                                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
                            },
                            {"ipBlock": {"cidr": NODE_LOCAL_DNS}},
                        ],
                        "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
                    },
                    {"to": [
                        {"ipBlock": {"cidr": "0.0.0.0/0", "except": v4}},
                        {"ipBlock": {"cidr": "::/0", "except": v6}},
                    ]},
                ],
            }),
        ),
        object(
            "ResourceQuota",
            "tenant",
            json!({
                "apiVersion": "v1", "kind": "ResourceQuota",
                "metadata": {"name": "tenant", "namespace": namespace, "labels": labels},
                "spec": {"hard": {
                    "pods": pods.to_string(),
                    "services.nodeports": "0",
                    "services.loadbalancers": "0",
                }},
            }),
        ),
    ];
    all.extend(among_peers);
    all
}

fn object(kind: &'static str, name: &str, mut body: Value) -> Object {
    let hash = short_hash(body.to_string().as_bytes());
    body["metadata"]["annotations"] = json!(BTreeMap::from([(ANNOTATION_APPLIED, &hash)]));
    Object { kind, name: name.to_owned(), hash, body }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ServiceAccount};
    use k8s_openapi::api::networking::v1::NetworkPolicy;

    use super::*;

    #[test]
    fn the_objects_are_valid_and_their_hash_is_stable() {
        let settings = Settings::default();
        let all = objects(Owner::Tenant("ten-1"), false, &settings);
        assert_eq!(all, objects(Owner::Tenant("ten-1"), false, &settings));
        for object in &all {
            match object.kind {
                "Namespace" => drop(serde_json::from_value::<Namespace>(object.body.clone()).unwrap()),
                "ServiceAccount" => {
                    drop(serde_json::from_value::<ServiceAccount>(object.body.clone()).unwrap());
                }
                "NetworkPolicy" => {
                    let policy: NetworkPolicy = serde_json::from_value(object.body.clone()).unwrap();
                    assert!(policy.spec.is_some());
                }
                "ResourceQuota" => {
                    drop(serde_json::from_value::<ResourceQuota>(object.body.clone()).unwrap());
                }
                other => panic!("{other}"),
            }
        }
        assert_ne!(all[0].hash, objects(Owner::Tenant("ten-1"), true, &settings)[0].hash);
        assert_eq!(all[0].body["metadata"]["labels"][LABEL_ENFORCE], "restricted");
    }

    /// Whether the policies let a pod with these labels open a connection to one with those, in the namespaces of the operator.
    fn reaches(policies: &[Object], from: [&str; 3], to: [&str; 3]) -> bool {
        let keys = [names::LABEL_ROLE, names::LABEL_TENANT, names::LABEL_PEERS];
        let selects = |selector: &Value, pod: [&str; 3]| {
            let labels = selector["matchLabels"].as_object();
            labels.is_some_and(|labels| {
                labels.iter().all(|(key, value)| {
                    keys.iter().zip(pod).any(|(name, label)| key == name && value.as_str() == Some(label))
                })
            })
        };
        policies.iter().any(|policy| {
            let spec = &policy.body["spec"];
            let allowed = |rules: &str, end: &str, other: [&str; 3]| {
                let peers =
                    spec[rules].as_array().into_iter().flatten().filter_map(|rule| rule[end].as_array());
                peers.flatten().any(|peer| selects(&peer["podSelector"], other))
            };
            selects(&spec["podSelector"], from)
                && selects(&spec["podSelector"], to)
                && allowed("egress", "to", to)
                && allowed("ingress", "from", from)
        })
    }

    #[test]
    fn only_peers_of_one_tenant_reach_each_other() {
        let mut unit: GpuUnit = serde_json::from_value(json!({
            "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit", "metadata": {"name": "unit-1", "uid": "u"},
            "spec": {"gpuSpec": "small", "resources": {"cpu": "4", "memory": "16Gi"},
                "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "dra", "deviceClass": "gpus"}}},
        }))
        .unwrap();
        let settings = Settings::default();
        let [peer, other, alone] = [
            [names::ROLE_INSTANCE, "ten-1", "true"],
            [names::ROLE_INSTANCE, "ten-2", "true"],
            [names::ROLE_INSTANCE, "ten-1", ""],
        ];
        let idle = objects(Owner::Unit(&unit), false, &settings);
        assert!(!reaches(&idle, peer, peer));
        let instance =
            json!({"id": "inst-1", "attempt": 1, "tenantId": "ten-1", "image": "x", "reachesPeers": true});
        unit.spec.instance = Some(serde_json::from_value(instance).unwrap());
        for owner in [Owner::Tenant("ten-1"), Owner::Unit(&unit)] {
            let policies = objects(owner, false, &settings);
            assert!(reaches(&policies, peer, peer));
            for (from, to) in [(peer, other), (other, peer), (other, other), (peer, alone), (alone, peer)] {
                assert!(!reaches(&policies, from, to), "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn every_private_range_is_blocked() {
        let settings = Settings::default();
        let all = objects(Owner::Tenant("ten-1"), false, &settings);
        let blocks = &all[4].body["spec"]["egress"][1]["to"];
        let excepted: Vec<_> =
            (0..2).flat_map(|n| blocks[n]["ipBlock"]["except"].as_array().unwrap().clone()).collect();
        assert_eq!(excepted.len(), settings.private_ranges.len());
        assert!(
            blocks[0]["ipBlock"]["except"]
                .as_array()
                .unwrap()
                .iter()
                .all(|range| !range.as_str().unwrap().contains(':'))
        );
    }
}
