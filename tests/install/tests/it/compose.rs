//! docker-compose.yml, and the configurations that its first container writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use atelier_install_tests::{callers_are_known, program, root};
use serde_json::Value;

/// Services, and the files that they are started with.
const PROGRAMS: [(&str, &str); 9] = [
    ("gateway", "gateway"),
    ("identity", "identity"),
    ("stock", "stock"),
    ("storage", "storage"),
    ("gpu", "gpu"),
    ("operator", "operator"),
    ("provision", "provision"),
    ("devcluster", "cluster"),
    ("devs3", "objects"),
];

fn configure(folder: &Path) {
    let mut command = Command::new("sh");
    let status = command.arg(root().join("deploy/compose/configure.sh")).arg(folder).status().unwrap();
    assert!(status.success());
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
    let mut configurations = BTreeMap::new();
    for (service, file) in PROGRAMS {
        let file = folder.path().join(format!("{file}.toml"));
        let read = program::start(service, &file, &BTreeMap::new()).unwrap();
        configurations.insert(service.to_owned(), read);
    }
    callers_are_known(&configurations, str::to_owned);
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
    for (name, service) in services {
        let image = service["image"].as_str().unwrap();
        let stays = service["restart"] == "unless-stopped";
        assert!(!stays || service["healthcheck"].is_object() || name == "otel", "{name} has no health check");
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
    for folder in std::fs::read_dir(root().join("services")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        if !folder.path().join("src/main.rs").exists() {
            continue;
        }
        assert!(root().join(format!("deploy/helm/atelier/templates/{name}.yaml")).exists(), "chart: {name}");
        assert!(images.contains(&format!("FROM base AS {name}\n")), "images: {name}");
        assert!(compose["services"][&name].is_object(), "docker-compose.yml: {name}");
    }
}
