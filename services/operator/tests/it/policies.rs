//! What the network policies allow, by the rules of Kubernetes, over the pods that exist. Whether a network enforces them is
//! another question: the development cluster does not.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crds::names;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::lab::{Lab, NODE_LABEL};

/// One end of a connection.
#[derive(Clone)]
enum End {
    Pod(Box<Pod>),
    /// An address that is no pod's: of a service, a node, the metadata service, the internet.
    Address(IpAddr),
}

impl End {
    fn address(text: &str) -> Self {
        Self::Address(text.parse().unwrap())
    }

    fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Pod(pod) => pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok(),
            Self::Address(address) => Some(*address),
        }
    }
}

/// The policies of a cluster, and the labels of its namespaces.
struct Network {
    policies: Vec<NetworkPolicy>,
    namespaces: BTreeMap<String, BTreeMap<String, String>>,
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let labelled = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    labelled
        && selector.match_expressions.iter().flatten().all(|expression| {
            let (value, values) =
                (labels.get(&expression.key), expression.values.as_deref().unwrap_or_default());
            match expression.operator.as_str() {
                "In" => value.is_some_and(|value| values.contains(value)),
                "NotIn" => value.is_none_or(|value| !values.contains(value)),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                other => panic!("the operator {other} of a selector"),
            }
        })
}

fn is_in(address: IpAddr, range: &str) -> bool {
    let (base, length) = range.split_once('/').unwrap();
    let length: u32 = length.parse().unwrap();
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, true),
        IpAddr::V6(address) => (address.to_bits(), false),
    };
    let ((base, base_is_v4), (address, is_v4)) = (bits(base.parse().unwrap()), bits(address));
    base_is_v4 == is_v4 && (base ^ address).checked_shr(128 - length).unwrap_or(0) == 0
}

impl Network {
    async fn of(lab: &Lab) -> Self {
        let all = ListParams::default();
        let policies = Api::<NetworkPolicy>::all(lab.client.clone()).list(&all).await.unwrap().items;
        let namespaces = Api::<Namespace>::all(lab.client.clone()).list(&all).await.unwrap().items;
        let namespaces = namespaces.into_iter().map(|one| (one.name_any(), one.labels().clone()));
        Self { policies, namespaces: namespaces.collect() }
    }

    fn of_pod(&self, pod: &Pod, direction: &str) -> Vec<&NetworkPolicySpec> {
        let selecting = self.policies.iter().filter(|policy| policy.namespace() == pod.namespace());
        let specs = selecting.filter_map(|policy| policy.spec.as_ref());
        let is_for = |spec: &&NetworkPolicySpec| {
            spec.policy_types.iter().flatten().any(|one| one == direction)
                && spec.pod_selector.as_ref().is_none_or(|selector| selects(selector, pod.labels()))
        };
        specs.filter(is_for).collect()
    }

    fn is_peer(&self, peer: &NetworkPolicyPeer, own: &Pod, other: &End) -> bool {
        if let Some(block) = &peer.ip_block {
            // also of pods: networks differ in that, and the widest reading counts
            return other.ip().is_some_and(|address| {
                is_in(address, &block.cidr)
                    && !block.except.iter().flatten().any(|range| is_in(address, range))
            });
        }
        let End::Pod(other) = other else { return false };
        let namespace = other.namespace().unwrap();
        let in_namespace = match &peer.namespace_selector {
            Some(selector) => self.namespaces.get(&namespace).is_some_and(|labels| selects(selector, labels)),
            None => own.namespace() == Some(namespace),
        };
        in_namespace && peer.pod_selector.as_ref().is_none_or(|selector| selects(selector, other.labels()))
    }

    /// Whether a connection to a port may be opened.
    fn allows(&self, from: &End, to: &End, protocol: &str, port: i32) -> bool {
        let has_port = |ports: Option<&Vec<NetworkPolicyPort>>| {
            ports.is_none_or(|ports| {
                ports.iter().any(|one| {
                    one.protocol.as_deref().unwrap_or("TCP") == protocol
                        && one.port.as_ref().is_none_or(|wanted| *wanted == IntOrString::Int(port))
                })
            })
        };
        let has_peer = |peers: Option<&Vec<NetworkPolicyPeer>>, own: &Pod, other: &End| {
            peers.is_none_or(|peers| {
                peers.is_empty() || peers.iter().any(|peer| self.is_peer(peer, own, other))
            })
        };
        let leaves = match from {
            End::Address(_) => true,
            End::Pod(pod) => {
                let policies = self.of_pod(pod, "Egress");
                let mut rules = policies.iter().flat_map(|spec| spec.egress.iter().flatten());
                policies.is_empty()
                    || rules.any(|rule| has_port(rule.ports.as_ref()) && has_peer(rule.to.as_ref(), pod, to))
            }
        };
        let enters = match to {
            End::Address(_) => true,
            End::Pod(pod) => {
                let policies = self.of_pod(pod, "Ingress");
                let mut rules = policies.iter().flat_map(|spec| spec.ingress.iter().flatten());
                policies.is_empty()
                    || rules
                        .any(|rule| has_port(rule.ports.as_ref()) && has_peer(rule.from.as_ref(), pod, from))
            }
        };
        leaves && enters
    }
}

impl Lab {
    /// A pod of the test, which runs on a node of the lab.
    async fn create_pod(&self, namespace: &str, name: &str, labels: Value) -> End {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let made: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
        namespaces.create(&PostParams::default(), &made).await.ok();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
        let pod = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "nodeSelector": {(NODE_LABEL): self.id}, "automountServiceAccountToken": false,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{"name": "main", "image": crate::lab::IMAGE, "securityContext": security}],
            },
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        // the controllers make the account of a new namespace
        testkit::eventually("the pod is created", async || {
            pods.create(&PostParams::default(), &pod).await.ok()
        })
        .await;
        self.end_of(namespace, name).await
    }

    async fn end_of(&self, namespace: &str, name: &str) -> End {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let pod = testkit::eventually("the pod has an address", async || {
            let pod = pods.get(name).await.ok()?;
            pod.status.as_ref()?.pod_ip.is_some().then_some(pod)
        });
        End::Pod(Box::new(pod.await))
    }

    /// The pod of the instance that runs in a unit.
    async fn instance_end(&self, n: usize) -> End {
        let status = self.running(n, 1).await.instance.unwrap();
        self.end_of(&status.namespace, &status.pod_name).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_reach_the_internet_and_dns_and_only_the_gateway_reaches_them() {
    let lab = Lab::new(1, 8).await;
    if !lab.is_dev() {
        eprintln!("skipped: it creates pods in kube-system and atelier-system");
        return;
    }
    let operator = lab.operator("one", None).await;
    lab.create_units(5).await;
    let other_tenant = format!("ten-{}{:024x}", lab.id, 8);
    for (n, tenant, reaches_peers) in [
        (0, lab.tenant(), false),
        (1, lab.tenant(), false),
        (2, lab.tenant(), true),
        (3, lab.tenant(), true),
        (4, other_tenant.clone(), true),
    ] {
        let mut instance = lab.instance(n, 1);
        (instance["tenantId"], instance["reachesPeers"]) = (json!(tenant), json!(reaches_peers));
        lab.set_instance(n, Some(instance)).await;
    }
    let mut pods = Vec::new();
    for n in 0..5 {
        pods.push(lab.instance_end(n).await);
    }
    let [alone, sibling, peer, other_peer, foreign] = <[End; 5]>::try_from(pods).ok().unwrap();
    let gateway_label = json!({"app.kubernetes.io/name": "atelier-gateway"});
    let gateway = lab.create_pod(names::SYSTEM_NAMESPACE, "gateway", gateway_label.clone()).await;
    let service = lab
        .create_pod(names::SYSTEM_NAMESPACE, "stock", json!({"app.kubernetes.io/name": "atelier-stock"}))
        .await;
    let dns = lab.create_pod("kube-system", "dns", json!({"k8s-app": "kube-dns"})).await;
    let system = lab.create_pod("kube-system", "metrics", json!({"k8s-app": "metrics"})).await;
    let rgw = lab.create_pod("rook-ceph", "rgw", json!({"app": "rook-ceph-rgw"})).await;
    // what a tenant cannot make, and somebody else might
    let impostor = lab.create_pod("elsewhere", "gateway", gateway_label).await;
    let download =
        lab.create_pod(&lab.tenant(), "download", json!({(names::LABEL_ROLE): names::ROLE_DOWNLOAD})).await;
    let unlabelled = lab.create_pod(&lab.tenant(), "unlabelled", json!({})).await;
    let node_dns = End::address("169.254.20.10");
    let network = Network::of(&lab).await;
    let tcp = |from: &End, to: &End, port| network.allows(from, to, "TCP", port);

    for (what, end) in [
        ("another tenant's instance", &foreign),
        ("another instance of the tenant", &sibling),
        ("a peer, which this instance is not", &peer),
        ("the gateway", &gateway),
        ("a service of the platform", &service),
        ("a system pod", &system),
        ("the object store's pod", &rgw),
        ("a download of the tenant", &download),
    ] {
        for port in [53, 80, 443, 8080] {
            assert!(!tcp(&alone, end, port), "an instance reaches {what} at {port}");
        }
    }
    for address in [
        "10.96.0.1",       // the API server's service
        "192.168.1.10",    // a node: its kubelet, its API server
        "172.18.0.2",      // a node of kind
        "100.64.0.7",      // carrier-grade addresses, which some clusters use
        "169.254.169.254", // the metadata service of clouds
        "fd00:ec2::254",   // the same by IPv6
        "127.0.0.1",
        "fe80::1",
        "64:ff9b::a00:1",   // 10.0.0.1 through NAT64
        "64:ff9b:1::a00:1", // the same by a prefix for use within a network
        "2002:a00:1::1",    // the same through 6to4
        "224.0.0.251",
    ] {
        for port in [53, 80, 443, 6443, 10250] {
            assert!(!tcp(&alone, &End::address(address), port), "an instance reaches {address} at {port}");
        }
    }
    for from in [&alone, &peer, &download] {
        for address in ["203.0.113.10", "93.184.216.34", "2606:4700:4700::1111"] {
            assert!(tcp(from, &End::address(address), 443), "{address} is not reached");
        }
        for protocol in ["UDP", "TCP"] {
            assert!(network.allows(from, &dns, protocol, 53), "DNS by {protocol}");
            assert!(network.allows(from, &node_dns, protocol, 53), "NodeLocal DNSCache by {protocol}");
        }
        assert!(!tcp(from, &node_dns, 80), "another port of NodeLocal DNSCache");
        assert!(!tcp(from, &dns, 9153), "the metrics of the DNS server");
    }
    // peers of one tenant, and nobody else
    assert!(tcp(&peer, &other_peer, 29500) && tcp(&other_peer, &peer, 29500));
    for (from, to) in [(&peer, &foreign), (&foreign, &peer), (&peer, &alone), (&alone, &peer)] {
        assert!(!tcp(from, to, 29500));
    }
    // what comes in
    for to in [&alone, &peer, &foreign] {
        assert!(tcp(&gateway, to, 8080), "the gateway");
        for from in [&service, &system, &rgw, &impostor, &download, &unlabelled] {
            assert!(!tcp(from, to, 8080), "something else");
        }
        for address in ["203.0.113.10", "10.0.0.1"] {
            assert!(!tcp(&End::address(address), to, 8080), "{address}");
        }
    }
    assert!(!tcp(&gateway, &download, 8080), "nothing listens in a download");
    // a pod without a role has no way out or in
    for port in [53, 443] {
        assert!(!tcp(&unlabelled, &End::address("203.0.113.10"), port) && !tcp(&unlabelled, &dns, port));
    }
    assert!(!tcp(&gateway, &unlabelled, 8080));
    for n in 0..5 {
        lab.set_instance(n, None).await;
    }
    lab.end(operator, 5).await;
}

#[test]
fn ranges_are_compared_by_their_family() {
    let is_in = |address: &str, range: &str| is_in(address.parse().unwrap(), range);
    assert!(is_in("10.1.2.3", "10.0.0.0/8") && !is_in("11.0.0.0", "10.0.0.0/8"));
    assert!(is_in("203.0.113.10", "0.0.0.0/0") && !is_in("::1", "0.0.0.0/0"));
    assert!(is_in("fe80::1", "fe80::/10") && is_in("::1", "::/0") && !is_in("::2", "::1/128"));
    assert!(is_in("172.31.255.255", "172.16.0.0/12") && !is_in("172.32.0.0", "172.16.0.0/12"));
}
