//! The chart, rendered by helm.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;
use serde_json::Value;

use super::{program, root};

/// What helm makes of the chart with a value set of its folder `ci` and further arguments. None without helm: the case is
/// skipped. `cargo xtask test` installs it.
///
/// # Errors
/// What helm says if it refuses the values.
#[must_use]
pub(crate) fn rendered(values: &str, arguments: &[&str]) -> Option<Result<Chart, String>> {
    let Some(helm) = std::env::var_os("TEST_HELM") else {
        eprintln!("skipped: no helm (TEST_HELM)");
        return None;
    };
    let chart = root().join("deploy/helm/atelier");
    let output = Command::new(helm)
        .args(["template", "atelier", "--namespace", "atelier-system", "--values"])
        .arg(chart.join(format!("ci/{values}.yaml")))
        .args(arguments)
        .arg(&chart)
        .output()
        .unwrap();
    if !output.status.success() {
        return Some(Err(String::from_utf8(output.stderr).unwrap()));
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let objects = serde_yaml_ng::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).unwrap())
        .filter(|object| !object.is_null())
        .collect();
    Some(Ok(Chart { objects }))
}

/// The objects of a rendered chart.
#[derive(Debug)]
pub(crate) struct Chart {
    /// All of them.
    pub(crate) objects: Vec<Value>,
}

/// A program that the chart runs: of a Deployment, a Job or a `CronJob`.
#[derive(Debug)]
pub(crate) struct Pod<'a> {
    /// Kind and name of what it belongs to.
    pub(crate) owner: String,
    /// The service, as its image is called.
    pub(crate) service: String,
    /// The pod's specification.
    pub(crate) spec: &'a Value,
    /// Its only container.
    pub(crate) container: &'a Value,
    /// Labels of the pod.
    pub(crate) labels: &'a Value,
}

impl Chart {
    /// The objects of a kind.
    pub(crate) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// The object of this kind and name.
    #[must_use]
    pub(crate) fn named(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    /// The programs.
    #[must_use]
    pub(crate) fn pods(&self) -> Vec<Pod<'_>> {
        let owners = ["Deployment", "Job", "CronJob"].into_iter().flat_map(|kind| self.of_kind(kind));
        owners
            .map(|owner| {
                let spec = if owner["kind"] == "CronJob" {
                    &owner["spec"]["jobTemplate"]["spec"]
                } else {
                    &owner["spec"]
                };
                let template = &spec["template"];
                let containers = template["spec"]["containers"].as_array().unwrap();
                assert_eq!(containers.len(), 1);
                let image = containers[0]["image"].as_str().unwrap();
                let name = image.rsplit('/').next().unwrap().split(':').next().unwrap();
                Pod {
                    owner: format!("{} {}", text(&owner["kind"]), text(&owner["metadata"]["name"])),
                    service: name.to_owned(),
                    spec: &template["spec"],
                    container: &containers[0],
                    labels: &template["metadata"]["labels"],
                }
            })
            .collect()
    }

    /// Starts a program with the chart's configuration, and with sample secrets.
    ///
    /// # Errors
    /// If the service does not accept it.
    pub(crate) fn start(&self, pod: &Pod<'_>) -> anyhow::Result<Value> {
        let volumes = pod.spec["volumes"].as_array().unwrap();
        let volume = volumes.iter().find(|volume| volume["name"] == "config").unwrap();
        let name = volume["configMap"]["name"].as_str().unwrap();
        let map = self.named("ConfigMap", name).unwrap_or_else(|| panic!("{}: no {name}", pod.owner));
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("config.toml");
        std::fs::write(&file, map["data"]["config.toml"].as_str().unwrap())?;
        let variables = variables(pod.container, &sample_secret);
        program::start(&pod.service, &file, &variables)
    }
}

/// The variables of a container; `secret` is the value of a key of a Secret.
pub(crate) fn variables(container: &Value, secret: &dyn Fn(&str) -> String) -> BTreeMap<String, String> {
    let value = |variable: &Value| {
        let from = &variable["valueFrom"];
        match (&variable["value"], from["secretKeyRef"]["key"].as_str(), &from["fieldRef"]["fieldPath"]) {
            (Value::String(value), _, _) => value.clone(),
            (_, Some(key), _) => secret(key),
            (_, _, Value::String(_)) => "atelier-operator-7d4b9c-x2x4z".to_owned(),
            _ => panic!("{variable} has no value"),
        }
    };
    let all = container["env"].as_array().unwrap();
    all.iter().map(|variable| (text(&variable["name"]), value(variable))).collect()
}

/// What the documented keys of Secrets may contain.
#[must_use]
pub(crate) fn sample_secret(key: &str) -> String {
    const KEYS: &str = r#"[{id="2",key="MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},{id="1",key="MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDA="}]"#;
    let sample = match key {
        service if platform::service(service).is_some() => {
            return format!("{service}-token-0123456789abcdef0123456");
        }
        "cookie-keys" | "encryption-keys" => KEYS,
        "oidc-providers" => {
            r#"[{id="company",name="Company",issuer="https://login.example.com",client_id="atelier",client_secret="secret"}]"#
        }
        "cache-url" => "rediss://:secret@valkey:6379",
        "cache-key" => "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        "shared-limits-url" => "redis://:secret@valkey:6379",
        "url" => "amqps://atelier:secret@rabbitmq:5671/%2f",
        "management-url" => "https://atelier:secret@rabbitmq:15671",
        "owner-password"
        | "app-password"
        | "worker-password"
        | "reader-password"
        | "bootstrap-admin-password"
        | "access-key"
        | "secret-key"
        | "username"
        | "password" => "secret",
        other => panic!("the key {other:?} of a Secret is not documented"),
    };
    sample.to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
