//! `cargo xtask platform`: what the chart, the compose file and the images take from `platform.toml`. A file is either made as a
//! whole, or between the line `# made from platform.toml by …: WHAT` and the line `# end of WHAT`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Context;
use platform::Service;
use serde_json::{Value, json};

use crate::generate::{self, Args};

const COMMAND: &str = "cargo xtask platform";
const CHART: &str = "deploy/helm/atelier";

pub fn run(args: &Args) -> anyhow::Result<()> {
    let schema = format!("{CHART}/values.schema.json");
    let (values, plain) = values_schema(&read(&schema)?)?;
    let mut files = vec![(format!("{CHART}/files/platform.yaml"), chart()?), (schema, values)];
    for (file, parts) in [
        (&*format!("{CHART}/values.yaml"), vec![("services without values of their own", values_of(&plain))]),
        (
            "docker-compose.yml",
            vec![("services", compose()), ("those behind the gateway", behind_the_gateway())],
        ),
        (&*format!("{CHART}/ci/remote.yaml"), vec![("services of the management plane", disabled())]),
        ("deploy/compose/configure.sh", vec![("services", lists())]),
        ("deploy/compose/prometheus.yml", vec![("services", targets())]),
        ("deploy/images/Containerfile", vec![("programs", programs()), ("services", stages())]),
    ] {
        let text = parts.iter().try_fold(read(file)?, |text, (what, lines)| replace(&text, what, lines));
        files.push((file.to_owned(), text.with_context(|| file.to_owned())?));
    }
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|(file, text)| (xtask::root().join(file), text)).collect();
    generate::put(args, COMMAND, &files)
}

fn read(file: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(xtask::root().join(file)).with_context(|| file.to_owned())
}

/// A text with other lines between the marks. They get the indentation of the marks.
fn replace(text: &str, what: &str, lines: &str) -> anyhow::Result<String> {
    let begin = format!("# made from platform.toml by `{COMMAND}`: {what}\n");
    let end = format!("# end of {what}\n");
    let missing = |mark: &str| format!("the line `{}` is missing", mark.trim());
    let (before, rest) = text.split_once(&begin).with_context(|| missing(&begin))?;
    let (_, after) = rest.split_once(&end).with_context(|| missing(&end))?;
    let indentation = before.rsplit('\n').next().unwrap_or_default();
    let indent =
        |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{indentation}{line}\n") };
    let lines: String = lines.lines().map(indent).collect();
    Ok(format!("{before}{begin}{lines}{indentation}{end}{after}"))
}

fn names<'a>(services: impl Iterator<Item = &'a Service>) -> Vec<&'a str> {
    services.map(|service| service.name.as_str()).collect()
}

/// The services in the chart. A service without a template of its own is plain.
fn chart() -> anyhow::Result<String> {
    let service = |service: &Service| {
        let template = xtask::root().join(format!("{CHART}/templates/{}.yaml", service.name));
        json!({
            "name": service.name,
            "plain": !template.exists(),
            "schema": service.schema,
            "clusters": service.clusters,
            "cache": service.cache,
            "encrypts": service.encrypts,
            "calls": service.calls,
            "endpoints": service.endpoints,
            "callers": service.callers().collect::<Vec<_>>(),
        })
    };
    let services: Vec<_> = platform::services().iter().map(service).collect();
    let all = json!({ "routed": names(platform::routed()), "services": services });
    Ok(format!("# Made from platform.toml by `{COMMAND}`.\n{}", serde_yaml_ng::to_string(&all)?))
}

/// The schema of the chart's values, with each service; and those whose values are the usual ones.
fn values_schema(text: &str) -> anyhow::Result<(String, Vec<&'static str>)> {
    let usual = json!({ "$ref": "#/$defs/plainService" });
    let mut schema: Value = serde_json::from_str(text)?;
    let properties = schema["properties"].as_object_mut().context("the schema has no properties")?;
    properties.retain(|name, value| *value != usual || platform::service(name).is_some());
    for service in platform::stateful() {
        properties.entry(&service.name).or_insert_with(|| usual.clone());
    }
    let plain = names(platform::stateful().filter(|service| properties[&service.name] == usual));
    Ok((serde_json::to_string_pretty(&schema)? + "\n", plain))
}

fn values_of(plain: &[&str]) -> String {
    plain
        .iter()
        .map(|name| format!("{name}:\n  enabled: true\n  config: {{}}\n"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The values of a cluster that runs none of them.
fn disabled() -> String {
    let is_central = |service: &&Service| service.schema || service.name == platform::GATEWAY;
    let central = platform::services().iter().filter(is_central);
    central.map(|service| format!("{}: {{enabled: false}}\n", service.name)).collect()
}

fn compose() -> String {
    let mut text = String::new();
    for Service { name, .. } in platform::stateful() {
        let _ = writeln!(
            text,
            "migrate-{name}:\n  <<: [*once, *program]\n  image: atelier/{name}:dev\n  \
             command: [migrate, --config, /config/{name}.toml]\n  depends_on: *provisioned\n"
        );
    }
    for service in platform::stateful() {
        let name = &service.name;
        let _ = writeln!(
            text,
            "{name}:\n  <<: *program\n  image: atelier/{name}:dev\n  build: {{<<: *image, target: {name}}}\n  \
             command: [serve, --config, /config/{name}.toml]"
        );
        if !service.published.is_empty() {
            let ports: Vec<_> =
                service.published.iter().map(|port| format!("\"127.0.0.1:{port}:{port}\"")).collect();
            let _ = writeln!(text, "  ports: [{}]", ports.join(", "));
        }
        let _ = writeln!(
            text,
            "  healthcheck: *ready\n  depends_on:\n    migrate-{name}: {{condition: service_completed_successfully}}"
        );
        if service.clusters {
            text.push_str("    definitions: {condition: service_completed_successfully}\n");
        }
        if service.object_store {
            text.push_str("    objects: {condition: service_healthy}\n");
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn behind_the_gateway() -> String {
    platform::routed().map(|service| format!("{}: {{condition: service_healthy}}\n", service.name)).collect()
}

/// Variables of the script that configures the containers.
fn lists() -> String {
    let stateful = platform::stateful;
    let list = |variable: &str, names: &[&str]| format!("{variable}=\"{}\"\n", names.join(" "));
    let mut text = list("services", &names(stateful()));
    text += &list("routed", &names(platform::routed()));
    text += &list("calling", &names(platform::services().iter().filter(|one| !one.calls.is_empty())));
    text += &list("encrypting", &names(stateful().filter(|one| one.encrypts)));
    text += &list("with_cache", &names(stateful().filter(|one| one.cache)));
    text += &list("with_clusters", &names(stateful().filter(|one| one.clusters)));
    for service in stateful() {
        let of = |what: &str, names: &[&str]| list(&format!("{what}_{}", service.name), names);
        let (calls, endpoints): (Vec<_>, Vec<_>) = (
            service.calls.iter().map(String::as_str).collect(),
            service.endpoints.iter().map(String::as_str).collect(),
        );
        text += &of("callers_of", &service.callers().collect::<Vec<_>>());
        text += &of("called_by", &calls);
        text += &of("endpoints_of", &endpoints);
    }
    text
}

/// Prometheus' scrape targets of the compose file.
fn targets() -> String {
    platform::stateful()
        .map(|Service { name, .. }| {
            format!("- targets: [\"{name}:8080\"]\n  labels: {{job: atelier-{name}}}\n")
        })
        .collect()
}

fn programs() -> String {
    format!("ARG SERVICES=\"{}\"\n", names(platform::services().iter()).join(" "))
}

/// A stage for each service but the gateway, which has the console.
fn stages() -> String {
    let others = platform::services().iter().filter(|service| service.name != platform::GATEWAY);
    let stage = |Service { name, .. }: &Service| {
        format!(
            "FROM base AS {name}\nLABEL org.opencontainers.image.title=\"atelier-{name}\"\n\
             COPY --from=programs /programs/atelier-{name} /atelier\n"
        )
    };
    others.map(stage).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_the_marks_are_replaced() {
        let text = |lines: &str| {
            format!(
                "a:\n  # made from platform.toml by `{COMMAND}`: things\n{lines}  # end of things\nb: 1\n"
            )
        };
        assert_eq!(
            replace(&text("  old: 1\n"), "things", "new:\n\n  more: 2").unwrap(),
            text("  new:\n\n    more: 2\n")
        );
        let error = replace(&text(""), "others", "").unwrap_err().to_string();
        assert!(error.contains(": others` is missing"), "{error}");
        let error = replace(text("").split("  # end").next().unwrap(), "things", "").unwrap_err().to_string();
        assert_eq!(error, "the line `# end of things` is missing");
    }

    #[test]
    fn a_service_that_calls_clusters_has_rights_there() {
        for Service { name, .. } in platform::services().iter().filter(|service| service.clusters) {
            let _ = read(&format!("deploy/rbac/{name}.yaml")).unwrap();
        }
    }

    #[test]
    fn the_console_shows_each_audit_log() {
        let file = "console/src/features/platform/audit/logs.ts";
        let text = read(file).unwrap();
        let is_missing = |(service, _): &(&str, &str)| !text.contains(&format!("{service:?}"));
        let missing: Vec<_> = platform::audit_logs().filter(is_missing).collect();
        assert!(missing.is_empty(), "{file} lacks {missing:?}");
    }

    #[test]
    fn the_committed_files_are_made_from_this_list() {
        run(&Args::check()).unwrap();
    }
}
