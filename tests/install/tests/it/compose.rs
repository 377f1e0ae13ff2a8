//! docker-compose.yml, and the configurations that its first container writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use crate::support::{callers_are_known, program, root};
use platform::Service;
use serde_json::Value;

/// Programs, and the files that they are started with.
fn programs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let services = names(platform::services().iter()).map(|name| (name, name));
    services.chain([("provision", "provision"), ("devcluster", "cluster"), ("devs3", "objects")])
}

fn names(services: impl Iterator<Item = &'static Service>) -> impl Iterator<Item = &'static str> {
    services.map(|service| service.name.as_str())
}

fn configure(folder: &Path) {
    assert!(configure_with(folder, &[]));
}

/// Runs the first container's program with variables of the compose file. Returns whether it succeeded.
fn configure_with(folder: &Path, variables: &[(&str, &str)]) -> bool {
    let mut command = Command::new("sh");
    command.env_remove("COMPOSE_PROFILES").env_remove("GATEWAY_PORT").envs(variables.iter().copied());
    command.arg(root().join("deploy/compose/configure.sh")).arg(folder).status().unwrap().success()
}

/// The configurations of all programs, by service.
fn configurations(folder: &Path) -> BTreeMap<String, Value> {
    let read = |(service, file): (&str, &str)| {
        let file = folder.join(format!("{file}.toml"));
        (service.to_owned(), program::start(service, &file, &BTreeMap::new()).unwrap())
    };
    programs().map(read).collect()
}

fn yaml(file: &str) -> Value {
    serde_yaml_ng::from_str(&std::fs::read_to_string(root().join(file)).unwrap()).unwrap()
}

fn compose() -> Value {
    let text = std::fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    let mut value: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).unwrap();
    value.apply_merge().unwrap();
    serde_json::to_value(value).unwrap()
}

#[test]
fn each_program_accepts_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path());
    callers_are_known(&configurations(folder.path()), str::to_owned);
}

#[test]
fn secrets_are_made_once_and_differ_between_installations() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secrets = |folder: &Path| -> BTreeMap<String, String> {
        configure(folder);
        let text = std::fs::read_to_string(folder.join("secrets")).unwrap();
        let lines = text.lines().map(|line| line.split_once('=').unwrap());
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let first = secrets(one.path());
    assert_eq!(secrets(one.path()), first);
    let all: BTreeSet<&String> = first.values().collect();
    assert_eq!(all.len(), first.len(), "each secret is another");
    for (name, value) in secrets(other.path()) {
        assert_ne!(first[&name], value, "{name}");
        assert!(value.len() >= 16, "{name} is short");
    }
}

#[test]
fn the_file_has_no_secret_and_each_program_has_a_configuration() {
    let compose = compose();
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path());
    for (name, service) in compose["services"].as_object().unwrap() {
        for (variable, value) in service["environment"].as_object().into_iter().flatten() {
            let is_secret = ["PASSWORD", "TOKEN", "KEY", "SECRET"].iter().any(|word| variable.contains(word));
            let value = value.as_str().unwrap();
            assert!(!is_secret || value.starts_with("/config/"), "{name}: {variable}");
        }
        let words =
            ["entrypoint", "command"].map(|field| service[field].as_array().cloned().unwrap_or_default());
        let files = words
            .concat()
            .into_iter()
            .filter_map(|word| word.as_str()?.strip_prefix("/config/").map(str::to_owned));
        for file in files {
            assert!(folder.path().join(&file).exists(), "{name}: nothing writes /config/{file}");
        }
    }
}

#[test]
fn what_stays_up_has_a_health_check_and_no_privileges() {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    // the image of the one has no program for a check, the other one does nothing
    let without = ["otel", "pod-network"];
    for (name, service) in services {
        let image = service["image"].as_str().unwrap();
        let stays = service["restart"] == "unless-stopped";
        assert!(
            !stays || service["healthcheck"].is_object() || without.contains(&name.as_str()),
            "{name} has no health check"
        );
        if image.starts_with("atelier/") {
            assert_eq!(service["user"], "65532:65532", "{name}");
            assert_eq!(service["cap_drop"][0], "ALL", "{name}");
            let target = image.trim_start_matches("atelier/").trim_end_matches(":dev");
            let built =
                services.values().any(|one| one["image"] == image && one["build"]["target"] == target);
            assert!(built, "nothing builds {image}");
        }
    }
}

#[test]
fn each_service_is_installed() {
    let compose = compose();
    let images = std::fs::read_to_string(root().join("deploy/images/Containerfile")).unwrap();
    let mut folders = BTreeSet::new();
    for folder in std::fs::read_dir(root().join("services")).unwrap() {
        let folder = folder.unwrap();
        if folder.path().join("src/main.rs").exists() {
            let _ = folders.insert(folder.file_name().into_string().unwrap());
        }
    }
    assert_eq!(folders, names(platform::services().iter()).map(str::to_owned).collect(), "platform.toml");
    for name in folders {
        assert!(images.contains(&format!("FROM base AS {name}\n")), "images: {name}");
        assert!(compose["services"][&name].is_object(), "docker-compose.yml: {name}");
    }
}

/// Names by which containers reach each other.
fn hosts(compose: &Value) -> BTreeSet<String> {
    let services = compose["services"].as_object().unwrap();
    let own = services.iter().filter(|(_, service)| service["network_mode"].is_null());
    let aliases = services.values().flat_map(|service| {
        let aliases = service["networks"]["default"]["aliases"].as_array().cloned().unwrap_or_default();
        aliases.into_iter().map(|alias| alias.as_str().unwrap().to_owned())
    });
    own.map(|(name, _)| name.clone()).chain(aliases).collect()
}

#[test]
fn the_profile_ceph_selects_the_object_store_at_the_first_start() {
    let compose = compose();
    for (profiles, host) in [("", "objects"), ("observe,ceph", "ceph"), ("cephalopod", "objects")] {
        let folder = tempfile::tempdir().unwrap();
        assert!(configure_with(folder.path(), &[("COMPOSE_PROFILES", profiles)]));
        let configurations = configurations(folder.path());
        let store = &configurations["storage"]["object_store"];
        let endpoint = store["endpoint"].as_str().unwrap();
        let port = endpoint.strip_prefix(&format!("http://{host}:")).unwrap();
        assert_eq!(configurations["gpu"]["log_archive"]["endpoint"], endpoint);
        assert_eq!(compose["services"][host]["ports"][0], format!("127.0.0.1:{port}:{port}"));
        assert_eq!(store["public_endpoint"], format!("http://localhost:{port}"));
        let gateway = &configurations["gateway"];
        assert_eq!(gateway["console"]["content_origins"][0], store["public_endpoint"]);
        assert_eq!(gateway["public_url"], store["allowed_origins"][0]);
        let keys = std::fs::read_to_string(folder.path().join("ceph-keys")).unwrap();
        for key in ["access_key", "secret_key"] {
            assert!(keys.contains(&format!("{key}={}\n", store[key].as_str().unwrap())), "{key}");
        }
    }
    // buckets of one store are unknown to the other
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path());
    let before = std::fs::read(folder.path().join("storage.toml")).unwrap();
    assert!(!configure_with(folder.path(), &[("COMPOSE_PROFILES", "ceph")]));
    assert_eq!(std::fs::read(folder.path().join("storage.toml")).unwrap(), before);
    assert!(configure_with(folder.path(), &[("COMPOSE_PROFILES", "observe")]));
    assert_eq!(compose["services"]["ceph"]["profiles"], serde_json::json!(["ceph"]));
    let script = Command::new("bash").arg("-n").arg(root().join("deploy/compose/ceph.sh")).status();
    assert!(script.unwrap().success());
}

#[test]
fn the_broker_asks_the_jobs_service_about_users() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path());
    let mq = configurations(folder.path())["jobs"]["mq"].clone();
    let settings = std::fs::read_to_string(folder.path().join("rabbitmq.conf")).unwrap();
    let settings: BTreeMap<&str, &str> =
        settings.lines().map(|line| line.split_once(" = ").unwrap()).collect();
    let port = mq["auth_listen"].as_str().unwrap().strip_prefix("0.0.0.0:").unwrap();
    for what in ["user", "vhost", "resource", "topic"] {
        let path = settings[format!("auth_http.{what}_path").as_str()];
        assert_eq!(path, format!("http://jobs:{port}/mq/v1/{what}"));
    }
    let (user, password) = (settings["default_user"], settings["default_pass"]);
    assert_eq!(mq["management_url"], format!("http://{user}:{password}@rabbitmq:15672"));
    assert_eq!(mq["url"], format!("amqp://{user}:{password}@rabbitmq:5672/%2f"));
    let plugins = std::fs::read_to_string(folder.path().join("rabbitmq-plugins")).unwrap();
    assert_eq!(plugins.trim(), "[rabbitmq_auth_backend_http, rabbitmq_management].");
    let broker = &compose()["services"]["rabbitmq"];
    assert_eq!(broker["ports"][0], "127.0.0.1:5672:5672");
    for (variable, file) in
        [("RABBITMQ_CONFIG_FILE", "rabbitmq.conf"), ("RABBITMQ_ENABLED_PLUGINS_FILE", "rabbitmq-plugins")]
    {
        assert_eq!(broker["environment"][variable], format!("/config/{file}"));
    }
}

#[test]
fn services_share_the_valkey_of_the_gateway() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path());
    let configurations = configurations(folder.path());
    let url = &configurations["gateway"]["limits"]["shared"]["url"];
    let server = std::fs::read_to_string(folder.path().join("valkey.conf")).unwrap();
    let password = server.lines().find_map(|line| line.strip_prefix("requirepass ")).unwrap();
    assert_eq!(*url, format!("redis://:{password}@valkey:6379"));
    assert!(server.contains("maxmemory-policy allkeys-lru"), "a full one would store nothing");
    for service in names(platform::services().iter().filter(|service| service.cache)) {
        let cache = &configurations[service]["cache"];
        assert_eq!((&cache["url"], cache["key"].as_str().unwrap().len()), (url, 44), "{service}");
    }
}

#[test]
fn another_port_of_the_gateway_is_in_each_url() {
    let folder = tempfile::tempdir().unwrap();
    assert!(configure_with(folder.path(), &[("GATEWAY_PORT", "18080")]));
    let configurations = configurations(folder.path());
    for (service, field) in [("gateway", "public_url"), ("identity", "public_url")] {
        assert_eq!(configurations[service][field], "http://localhost:18080", "{service}");
    }
    for service in names(platform::stateful()).chain(["gateway"]) {
        assert_eq!(configurations[service]["auth"]["issuer"], "http://localhost:18080", "{service}");
    }
    assert_eq!(configurations["gpu"]["apps"]["port"], 18080);
    let port = &compose()["services"]["pod-network"]["ports"][0];
    assert_eq!(port, "127.0.0.1:${GATEWAY_PORT:-8080}:8080");
}

#[test]
fn each_mounted_file_and_volume_exists() {
    let compose = compose();
    for (name, service) in compose["services"].as_object().unwrap() {
        for volume in service["volumes"].as_array().into_iter().flatten() {
            let source = volume.as_str().unwrap().split(':').next().unwrap();
            if source.starts_with('.') {
                assert!(root().join(source).exists(), "{name}: {source}");
            } else {
                assert!(compose["volumes"].as_object().unwrap().contains_key(source), "{name}: {source}");
            }
        }
    }
}

#[test]
fn prometheus_scrapes_each_service() {
    let hosts = hosts(&compose());
    let prometheus = yaml("deploy/compose/prometheus.yml");
    let mut scraped = BTreeSet::new();
    for target in prometheus["scrape_configs"][0]["static_configs"].as_array().unwrap() {
        let (host, port) = target["targets"][0].as_str().unwrap().split_once(':').unwrap();
        assert!(hosts.contains(host), "no container is called {host}");
        // the gateway serves its metrics apart from its public port
        assert_eq!(port, if host == "gateway" { "9090" } else { "8080" }, "{host}");
        assert_eq!(target["labels"]["job"], format!("atelier-{host}"));
        scraped.insert(host.to_owned());
    }
    assert_eq!(scraped, names(platform::services().iter()).map(str::to_owned).collect());
}

#[test]
fn grafana_finds_prometheus_and_the_dashboards() {
    let compose = compose();
    let mounts: BTreeMap<&str, &str> = compose["services"]["grafana"]["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|mount| mount.as_str().unwrap().trim_end_matches(":ro").split_once(':'))
        .map(|(source, target)| (target, source))
        .collect();
    let provisioning = |kind: &str| {
        let folder = mounts[format!("/etc/grafana/provisioning/{kind}").as_str()];
        let files: Vec<_> = std::fs::read_dir(root().join(folder)).unwrap().collect();
        assert_eq!(files.len(), 1, "{folder}");
        yaml(&format!("{folder}/{}", files[0].as_ref().unwrap().file_name().to_str().unwrap()))
    };
    let source = &provisioning("datasources")["datasources"][0];
    assert_eq!(source["type"], "prometheus");
    assert_eq!(source["isDefault"], true, "dashboards select the default data source");
    assert_eq!(source["url"], "http://prometheus:9090");
    assert!(hosts(&compose).contains("prometheus"));
    let dashboards = &provisioning("dashboards")["providers"][0];
    assert_eq!(dashboards["type"], "file");
    assert_eq!(mounts[dashboards["options"]["path"].as_str().unwrap()], "./deploy/grafana");
}

#[test]
fn each_service_exports_its_traces_to_the_collector() {
    let collector = yaml("deploy/compose/otel.yml");
    let listens = collector["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"].as_str().unwrap();
    let port = listens.strip_prefix("0.0.0.0:").unwrap();
    assert!(hosts(&compose()).contains("otel"));
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path());
    let configurations = configurations(folder.path());
    for service in names(platform::services().iter()) {
        assert_eq!(
            configurations[service]["telemetry"]["endpoint"],
            format!("http://otel:{port}"),
            "{service}"
        );
    }
}
