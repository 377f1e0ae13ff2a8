//! `docs/METRICS.md`, from what the services' programs print.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::generate::{self, Args};

/// Each label with its values: the number of series must not grow with what users create.
const LABELS: [(&str, &str); 20] = [
    ("area", "what is kept in the cache: `credentials`, `progress`, `catalogue`"),
    ("cause", "`panic`, `error`, `returned`"),
    ("cluster", "configured clusters, one per datacenter"),
    ("datacenter", "datacenters, which administrators create"),
    ("event", "types of budget events"),
    ("file", "configured certificates"),
    ("gpu_spec", "GPU specifications, which administrators create"),
    ("kind", "named with the metric; of the operator's metrics, kinds of objects and actions"),
    ("level", "`urgent`, `ordinary`, `background`"),
    ("method", "HTTP methods; `_OTHER` for those that are not in the standard"),
    ("outcome", "named with the metric"),
    ("pool", "`app` serves requests, `worker` the background workers"),
    ("queue", "tables that are queues"),
    ("result", "named with the metric"),
    (
        "route",
        "templates of the API's paths; `instance` for requests to instances, `none` for paths without a template",
    ),
    ("upstream", "services behind the gateway"),
    ("state", "named with the metric; of `instances`, the states of an instance"),
    ("status", "HTTP status codes"),
    ("worker", "names of background workers, of which some exist once per cluster"),
    ("le", "upper bound of a histogram's bucket, in seconds"),
];

const INTRODUCTION: &str = "\
# Metrics

Written by `cargo xtask metrics` from the registries of the services. Do not edit: `cargo xtask files` compares.

Every service serves `/metrics` in OpenMetrics text format: the gateway at `metrics_listen`, the others at `listen`. The
label `job` that Prometheus adds has to be the name of the program (`atelier-gateway`, `atelier-gpu`, …): alert rules and
dashboards select by it.

- A counter is there, with 0, before its first event, unless its labels are not known before.
- A gauge that is measured in Postgres has the same value in all replicas: use `max by (…)`, not `sum`. It is measured by a
  worker at intervals, not when it is scraped, and costs the same however many rows there are.
- No label has the id or name of a tenant, user, instance, unit or storage. `cargo xtask metrics` refuses a label that is not
  listed below, and tests compare what services serve with this list.
";

/// A metric, as a service's program prints it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Metric {
    name: String,
    kind: String,
    labels: Vec<String>,
    help: String,
}

/// `docs/METRICS.md`.
pub async fn run(args: &Args) -> anyhow::Result<()> {
    let programs = machine::programs::folder()?;
    let mut services = Vec::new();
    for service in platform::services().iter().map(|service| service.name.as_str()) {
        let text = generate::output_of(&programs, &format!("atelier-{service}"), &["metrics"])?;
        services.push((service, serde_json::from_str(&text)?));
    }
    let file = xtask::root().join("docs/METRICS.md");
    generate::put(args, "cargo xtask metrics", &[(file, reference(&services)?)])
}

/// The document.
fn reference(services: &[(&str, Vec<Metric>)]) -> anyhow::Result<String> {
    let mut all: Vec<(&Metric, Vec<&str>)> = Vec::new();
    for (service, metrics) in services {
        for metric in metrics {
            check(metric).with_context(|| format!("{} of {service}", metric.name))?;
            match all.iter_mut().find(|(known, _)| known.name == metric.name) {
                Some((known, of)) => {
                    ensure!(*known == metric, "{} differs between {service} and {of:?}", metric.name);
                    of.push(*service);
                }
                None => all.push((metric, vec![*service])),
            }
        }
    }
    let mut groups: Vec<(Vec<&str>, Vec<&Metric>)> = Vec::new();
    for (metric, of) in all {
        match groups.iter_mut().find(|(services, _)| *services == of) {
            Some((_, metrics)) => metrics.push(metric),
            None => groups.push((of, vec![metric])),
        }
    }
    // those of most services first
    groups.sort_by_key(|(of, _)| std::cmp::Reverse(of.len()));
    let mut text = INTRODUCTION.to_owned();
    for (of, metrics) in groups {
        let heading = if of.len() == services.len() { "all services".to_owned() } else { of.join(", ") };
        write!(text, "\n## {heading}\n\n| metric | type | labels | what it measures |\n|---|---|---|---|\n")?;
        for Metric { name, kind, labels, help } in metrics {
            let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
            writeln!(text, "| `{name}` | {kind} | {} | {help} |", labels.join(", "))?;
        }
    }
    text.push_str("\n## Labels\n\n| label | values |\n|---|---|\n");
    for (label, values) in LABELS {
        writeln!(text, "| `{label}` | {values} |")?;
    }
    Ok(text)
}

fn check(metric: &Metric) -> anyhow::Result<()> {
    let known: BTreeSet<&str> = LABELS.iter().map(|(label, _)| *label).collect();
    for label in &metric.labels {
        ensure!(known.contains(label.as_str()), "the label {label} is not listed in {}", file!());
    }
    let is_counter = metric.kind == "counter";
    ensure!(is_counter == metric.name.ends_with("_total"), "a counter's name ends with _total");
    Ok(())
}

/// Returns the names of all samples that the document lists, with those of histograms.
pub fn documented() -> anyhow::Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(xtask::root().join("docs/METRICS.md"))?;
    Ok(samples(&text))
}

fn samples(document: &str) -> BTreeSet<String> {
    let rows = document.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        Some((cells.next()?.strip_suffix('`')?.to_owned(), cells.next()?))
    });
    let by_kind: BTreeMap<String, &str> = rows.collect();
    let names = by_kind.into_iter().flat_map(|(name, kind)| match kind {
        "histogram" => ["_bucket", "_count", "_sum"].map(|suffix| format!("{name}{suffix}")).to_vec(),
        "counter" | "gauge" | "info" => vec![name],
        _ => vec![],
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str, kind: &str, labels: &[&str]) -> Metric {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Metric { name: name.to_owned(), kind: kind.to_owned(), labels, help: "Help".to_owned() }
    }

    #[test]
    fn the_document_lists_each_metric_once_with_its_services() {
        let (both, one) = (metric("up_seconds", "histogram", &["route"]), metric("a_total", "counter", &[]));
        let text = reference(&[("stock", vec![both.clone()]), ("gpu", vec![one, both])]).unwrap();
        assert!(text.contains("\n## all services\n"), "{text}");
        assert!(text.contains("\n| `up_seconds` | histogram | `route` | Help |\n"), "{text}");
        assert!(text.contains("\n## gpu\n"), "{text}");
        let expected = ["a_total", "up_seconds_bucket", "up_seconds_count", "up_seconds_sum"];
        assert_eq!(samples(&text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_label_without_a_bound_is_refused() {
        let text = reference(&[("gpu", vec![metric("used", "gauge", &["tenant"])])]);
        assert!(format!("{:#}", text.unwrap_err()).contains("the label tenant is not listed"));
        assert!(reference(&[("gpu", vec![metric("made", "counter", &[])])]).is_err());
    }
}
