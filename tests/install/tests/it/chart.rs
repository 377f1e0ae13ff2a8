//! The Helm chart, with each of its value sets.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{
    callers_are_known,
    chart::{Chart, Pod, rendered, sample_secret},
    root,
};
use serde_json::Value;

const VALUES: [&str; 4] = ["default", "full", "external", "remote"];

/// The chart with each value set; empty without helm.
fn charts() -> Vec<(&'static str, Chart)> {
    VALUES
        .into_iter()
        .map_while(|values| rendered(values, &[]).map(|chart| (values, chart.unwrap())))
        .collect()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn each_program_accepts_its_configuration() {
    for (values, chart) in charts() {
        let mut configurations = BTreeMap::new();
        for pod in chart.pods() {
            let read = chart.start(&pod).unwrap_or_else(|error| panic!("{values}: {}: {error:#}", pod.owner));
            if pod.owner.starts_with("Deployment") {
                let (app, owner) = (&read["database"]["app_password"], &read["database"]["owner_password"]);
                assert!(app.is_null() || owner.is_null(), "{}: only migrations own a schema", pod.owner);
                configurations.insert(pod.service.clone(), read);
            }
        }
        if values == "remote" {
            assert_eq!(configurations.keys().collect::<Vec<_>>(), ["operator"]);
        } else {
            callers_are_known(&configurations, |service| format!("atelier-{service}"));
        }
    }
}

#[test]
fn each_service_is_installed() {
    let Some(chart) = rendered("default", &[]) else { return };
    let chart = chart.unwrap();
    for service in platform::services() {
        let name = format!("atelier-{}", service.name);
        assert!(chart.named("Deployment", &name).is_some(), "{name}");
    }
}

#[test]
fn a_key_that_a_service_does_not_know_is_refused() {
    let Some(chart) = rendered("full", &["--set", "gpu.config.idle.notice_secconds=1"]) else { return };
    let chart = chart.unwrap();
    for pod in chart.pods().iter().filter(|pod| pod.service == "gpu") {
        let error = chart.start(pod).unwrap_err().to_string();
        assert!(error.contains("notice_secconds"), "{error}");
    }
}

#[test]
fn values_that_the_chart_does_not_know_are_refused() {
    for wrong in [
        "gatway.enabled=true",
        "gateway.tls.certmanager=true",
        "networkPolicy.postgres.cidrs={postgres.example.com}",
        "publicUrl=atelier.example.com",
        "database.sslMode=off",
        "clusters.uk-1.kubeconfig=secret",
        // needs publicUrl to begin with https
        "gateway.tls.enabled=true",
        // needs jobs.fleet.jobsUrl
        "jobs.fleet.enabled=true",
        "jobs.mq.publicUrl=https://mq.example.com",
        // needs database.provision.existingReaderSecret
        "backup.enabled=true",
    ] {
        let Some(chart) = rendered("default", &["--set", wrong]) else { return };
        assert!(chart.is_err(), "{wrong}");
    }
    let Some(chart) = rendered("default", &["--namespace", "elsewhere"]) else { return };
    assert!(chart.unwrap_err().contains("atelier-system"));
}

#[test]
fn jobs_are_taken_in_by_message_and_workers_run_where_that_is_wanted() {
    for (values, chart) in charts().into_iter().filter(|(values, _)| *values != "remote") {
        let pods = chart.pods();
        let jobs = pods.iter().find(|pod| pod.owner == "Deployment atelier-jobs").unwrap();
        let read = chart.start(jobs).unwrap();
        assert_eq!(read["stock"]["token"], sample_secret("jobs"));
        let policy = &chart.named("NetworkPolicy", "atelier-jobs").unwrap()["spec"];
        let rule = |port: u64| {
            items(&policy["ingress"])
                .iter()
                .find(|rule| items(&rule["ports"]).iter().any(|one| one["port"] == port))
        };
        assert!(rule(8097).unwrap()["from"].is_null(), "{values}: workers connect from everywhere");
        if values != "full" {
            assert!(read["mq"].is_null() && read["fleet"].is_null(), "{values}");
            assert!(
                rule(8098).is_none() && chart.named("Service", "atelier-jobs-broker").is_none(),
                "{values}"
            );
            continue;
        }
        assert_eq!(read["mq"]["url"], sample_secret("url"));
        assert_eq!(read["mq"]["public_url"], "amqps://mq.atelier.example.com:5671/%2f");
        assert_eq!(read["fleet"]["gpu"]["token"], sample_secret("jobs"));
        assert_eq!(read["fleet"]["idle_seconds"], 600);
        let from = &rule(8098).unwrap()["from"][0]["namespaceSelector"]["matchLabels"];
        assert_eq!(from["kubernetes.io/metadata.name"], "rabbitmq", "only the broker asks about users");
        assert_eq!(chart.named("Service", "atelier-jobs-workers").unwrap()["spec"]["type"], "LoadBalancer");
    }
}

#[test]
fn services_share_a_cache_where_there_is_one() {
    for (values, chart) in charts().into_iter().filter(|(values, _)| *values != "remote") {
        for pod in chart.pods().iter().filter(|pod| pod.owner.starts_with("Deployment")) {
            let what = format!("{values}: {}", pod.owner);
            let read = chart.start(pod).unwrap();
            let own = format!("atelier-{}", pod.service);
            let policy = chart.named("NetworkPolicy", &own).unwrap().to_string();
            let is_sharing = platform::service(&pod.service).is_some_and(|service| service.cache);
            if values != "full" || !is_sharing {
                assert!(read["cache"].is_null() && !policy.contains("6379"), "{what}");
                continue;
            }
            assert_eq!(read["cache"]["url"], sample_secret("cache-url"), "{what}");
            assert_eq!(read["cache"]["key"], sample_secret("cache-key"), "{what}");
            assert!(policy.contains("6379"), "{what} is not let out to it");
        }
    }
}

#[test]
fn numbers_of_values_stay_integers() {
    let Some(chart) = rendered("full", &[]) else { return };
    let chart = chart.unwrap();
    let gpu = chart.pods().into_iter().find(|pod| pod.owner == "Deployment atelier-gpu").unwrap();
    let read = chart.start(&gpu).unwrap();
    assert_eq!(read["log_archive"]["bytes_per_instance"], 134_217_728);
    assert_eq!(read["prometheus"]["local"]["matchers"]["cluster"], "local");
}

#[test]
fn pods_have_no_privileges_and_take_no_variable_for_configuration() {
    for (values, chart) in charts() {
        for pod in chart.pods() {
            let what = format!("{values}: {}", pod.owner);
            assert_eq!(pod.spec["enableServiceLinks"], false, "{what}");
            assert_eq!(pod.spec["securityContext"]["runAsNonRoot"], true, "{what}");
            let security = &pod.container["securityContext"];
            assert_eq!(security["readOnlyRootFilesystem"], true, "{what}");
            assert_eq!(security["allowPrivilegeEscalation"], false, "{what}");
            assert_eq!(security["capabilities"]["drop"][0], "ALL", "{what}");
            assert!(pod.container["resources"]["limits"]["memory"].is_string(), "{what}");
            if let Some(account) = pod.spec["serviceAccountName"].as_str() {
                assert!(chart.named("ServiceAccount", account).is_some(), "{what}: {account}");
            } else {
                assert_eq!(pod.spec["automountServiceAccountToken"], false, "{what}");
            }
        }
        assert_eq!(chart.of_kind("Secret").count(), 0, "secrets exist before the chart");
    }
}

/// The pods with these labels.
fn selected<'a>(pods: &'a [Pod<'a>], labels: &Value) -> Vec<&'a Pod<'a>> {
    let wanted = labels.as_object().unwrap();
    pods.iter().filter(|pod| wanted.iter().all(|(label, value)| &pod.labels[label] == value)).collect()
}

#[test]
fn services_probes_and_budgets_find_their_pods() {
    for (values, chart) in charts() {
        let pods = chart.pods();
        let ports = |container: &Value| -> BTreeSet<String> {
            items(&container["ports"]).iter().map(|port| port["name"].as_str().unwrap().to_owned()).collect()
        };
        for service in chart.of_kind("Service") {
            let name = &service["metadata"]["name"];
            let found = selected(&pods, &service["spec"]["selector"]);
            assert_eq!(found.len(), 1, "{values}: {name} selects other pods");
            let pod = found[0];
            for port in items(&service["spec"]["ports"]) {
                let target = port["targetPort"].as_str().unwrap();
                assert!(ports(pod.container).contains(target), "{values}: {name}: {target}");
            }
        }
        for budget in chart.of_kind("PodDisruptionBudget") {
            let found = selected(&pods, &budget["spec"]["selector"]["matchLabels"]);
            assert_eq!(found.len(), 1, "{values}: {budget}");
        }
        for pod in pods.iter().filter(|pod| pod.owner.starts_with("Deployment")) {
            for (probe, path) in [("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")]
            {
                let get = &pod.container[format!("{probe}Probe")]["httpGet"];
                assert_eq!(get["path"], path, "{values}: {}", pod.owner);
                assert!(ports(pod.container).contains(get["port"].as_str().unwrap()), "{}", pod.owner);
            }
            // serving on, then 20 s for requests and 20 s for tasks
            let read = chart.start(pod).unwrap();
            let drain = read["drain_seconds"]
                .as_i64()
                .or_else(|| pod.container["lifecycle"]["preStop"]["sleep"]["seconds"].as_i64());
            let grace = pod.spec["terminationGracePeriodSeconds"].as_i64().unwrap();
            assert!(grace >= drain.unwrap() + 40, "{values}: {}", pod.owner);
        }
    }
}

/// The services whose pods a rule of a network policy names.
fn peers(rules: &Value, direction: &str) -> BTreeSet<String> {
    let pods = items(rules).iter().flat_map(|rule| items(&rule[direction]));
    pods.filter_map(|peer| peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"].as_str())
        .map(str::to_owned)
        .collect()
}

#[test]
fn network_policies_let_services_reach_those_that_they_are_configured_with() {
    for (values, chart) in charts() {
        for pod in chart.pods().iter().filter(|pod| pod.owner.starts_with("Deployment")) {
            let own = format!("atelier-{}", pod.service);
            let read = chart.start(pod).unwrap().to_string();
            let policy = &chart.named("NetworkPolicy", &own).unwrap()["spec"];
            let named: BTreeSet<String> = read
                .split("http://")
                .skip(1)
                .filter_map(|rest| rest.split_once(':').map(|(host, _)| host))
                .filter(|host| host.starts_with("atelier-"))
                // one by one, they are the same pods
                .map(|host| host.strip_suffix("-replicas").unwrap_or(host).to_owned())
                .collect();
            assert_eq!(peers(&policy["egress"], "to"), named, "{values}: {own} is configured with others");
            for called in named {
                let called = &chart.named("NetworkPolicy", &called).unwrap()["spec"];
                assert!(peers(&called["ingress"], "from").contains(&own), "{values}: {own} is not let in");
            }
        }
    }
}

#[test]
fn what_is_optional_is_there_when_it_is_asked_for() {
    let Some(full) = rendered("full", &[]) else { return };
    let full = full.unwrap();
    let names = |kind: &str| -> BTreeSet<String> {
        full.of_kind(kind).map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let scaled = BTreeSet::from(["atelier-gateway", "atelier-gpu"].map(str::to_owned));
    assert_eq!(names("HorizontalPodAutoscaler"), scaled);
    assert_eq!(names("ServiceMonitor").len(), platform::services().len());
    let rules = std::fs::read_dir(root().join("deploy/helm/atelier/rules")).unwrap();
    let files = rules.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "yaml"));
    assert_eq!(names("PrometheusRule").len(), files.count());
    let certificate = full.named("Certificate", "atelier-gateway").unwrap();
    assert_eq!(certificate["spec"]["dnsNames"][0], "atelier.example.com");
    assert_eq!(certificate["spec"]["dnsNames"][1], "*.apps.atelier.example.net");
    for name in ["atelier-gateway", "atelier-gpu"] {
        assert!(full.named("Deployment", name).unwrap()["spec"]["replicas"].is_null(), "{name}");
    }
    let backups = full.named("CronJob", "atelier-backup").unwrap();
    assert!(backups.to_string().contains(r#""claimName":"atelier-backups""#), "{backups}");
    // the definitions outlive the release: with them all units would go
    for definition in full.of_kind("CustomResourceDefinition") {
        assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
}

#[test]
fn each_key_of_a_secret_is_documented() {
    let guide = std::fs::read_to_string(root().join("docs/INSTALL.md")).unwrap();
    for (values, chart) in charts() {
        for pod in chart.pods() {
            for variable in items(&pod.container["env"]) {
                let from = &variable["valueFrom"]["secretKeyRef"];
                let Some(key) = from["key"].as_str() else { continue };
                let secret = from["name"].as_str().unwrap();
                // a variable of a key without a sample is not documented
                let _ = sample_secret(key);
                assert!(guide.contains(&format!("`{key}`")), "{key} is not in docs/INSTALL.md");
                assert!(values == "external" || guide.contains(secret), "{secret} is not in docs/INSTALL.md");
            }
        }
    }
}
