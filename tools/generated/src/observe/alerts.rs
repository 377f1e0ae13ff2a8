//! `cargo xtask alerts`: checks and tests the alert rules with `promtool`, and compares rules, runbooks, dashboards and
//! `docs/METRICS.md` with each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use super::{metrics, promql};
use xtask::packages::{self, Consent};

pub const RULES: &str = "deploy/helm/atelier/rules";
const TESTS: &str = "deploy/prometheus/tests";
const RUNBOOKS: &str = "docs/runbooks";
const DASHBOARDS: &str = "deploy/grafana";
/// The headings of a runbook, in this order.
const HEADINGS: [&str; 4] = ["## What it means", "## How to see it", "## What to do", "## How to end it"];
/// Metrics that Prometheus itself makes.
const OWN: [&str; 2] = ["up", "ALERTS"];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Deserialize)]
struct RuleFile {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

/// A rule of the shipped files.
#[derive(Debug, Deserialize)]
pub struct Rule {
    pub alert: Option<String>,
    pub record: Option<String>,
    pub expr: String,
    #[serde(default, rename = "for")]
    pub lasting: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Rule {
    /// Severity of an alert.
    pub fn severity(&self) -> Option<&str> {
        self.labels.get("severity").map(String::as_str)
    }
}

/// All shipped rules.
pub fn rules() -> anyhow::Result<Vec<Rule>> {
    read_rules(&files(RULES, "yaml")?)
}

/// The queries of the shipped dashboards, each with the name of its file.
pub fn dashboard_queries() -> anyhow::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for file in files(DASHBOARDS, "json")? {
        let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        let mut queries = Vec::new();
        find_queries(&dashboard, &mut queries);
        all.extend(queries.into_iter().map(|query| (file_name(&file), query.to_owned())));
    }
    Ok(all)
}

#[derive(Debug, Deserialize)]
struct TestFile {
    tests: Vec<Test>,
}

#[derive(Debug, Deserialize)]
struct Test {
    #[serde(default)]
    alert_rule_test: Vec<AlertTest>,
}

#[derive(Debug, Deserialize)]
struct AlertTest {
    alertname: String,
    #[serde(default)]
    exp_alerts: Vec<Value>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    packages::prometheus(Consent::new(args.yes))?;
    check().await
}

/// Checks them with the `promtool` that is there.
pub async fn check() -> anyhow::Result<()> {
    let (rules, tests) = (files(RULES, "yaml")?, files(TESTS, "yaml")?);
    promtool(&["check", "rules"], &rules).await?;
    promtool(&["test", "rules"], &tests).await?;
    let mut faults = Vec::new();
    let rules = read_rules(&rules)?;
    check_metrics(&rules, &mut faults)?;
    check_runbooks(&rules, &mut faults)?;
    check_tests(&rules, &tests, &mut faults)?;
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    let alerts = rules.iter().filter(|rule| rule.alert.is_some()).count();
    println!("{alerts} alerts, each with a runbook and tests");
    Ok(())
}

/// The files of a folder with this extension, sorted.
fn files(folder: &str, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(xtask::root().join(folder)).with_context(|| folder.to_owned())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

async fn promtool(arguments: &[&str], files: &[PathBuf]) -> anyhow::Result<()> {
    let mut command = Command::new("promtool");
    let output = command.args(arguments).args(files).kill_on_drop(true).output().await?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        bail!("promtool {}:\n{}", arguments.join(" "), String::from_utf8_lossy(&text));
    }
    Ok(())
}

fn yaml<T: serde::de::DeserializeOwned>(file: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(file)?;
    serde_yaml_ng::from_str(&text).with_context(|| file.display().to_string())
}

fn read_rules(files: &[PathBuf]) -> anyhow::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for file in files {
        let file: RuleFile = yaml(file)?;
        rules.extend(file.groups.into_iter().flat_map(|group| group.rules));
    }
    Ok(rules)
}

/// Each metric of a rule, dashboard or runbook is documented, or recorded by a rule.
fn check_metrics(rules: &[Rule], faults: &mut Vec<String>) -> anyhow::Result<()> {
    let mut known = metrics::documented()?;
    known.extend(rules.iter().filter_map(|rule| rule.record.clone()));
    known.extend(OWN.map(str::to_owned));
    let unknown = |at: &str, query: &str| {
        let metrics = promql::metrics(query).into_iter().filter(|metric| !known.contains(metric));
        metrics.map(|metric| format!("{at}: {metric} is not in docs/METRICS.md")).collect::<Vec<_>>()
    };
    for rule in rules {
        let name = rule.alert.as_ref().or(rule.record.as_ref());
        faults.extend(unknown(name.map_or("a rule", String::as_str), &rule.expr));
    }
    for file in files(DASHBOARDS, "json")? {
        let name = file_name(&file);
        let dashboard: Value =
            serde_json::from_str(&std::fs::read_to_string(&file)?).context(name.clone())?;
        let mut queries = Vec::new();
        find_queries(&dashboard, &mut queries);
        if queries.is_empty() {
            faults.push(format!("{name}: no query"));
        }
        faults.extend(queries.into_iter().flat_map(|query| unknown(&name, query)));
    }
    for file in files(RUNBOOKS, "md")? {
        let (name, text) = (file_name(&file), std::fs::read_to_string(&file)?);
        for query in queries_in(&text) {
            faults.extend(unknown(&name, &query));
        }
    }
    Ok(())
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The queries of a runbook, one per block.
fn queries_in(text: &str) -> Vec<String> {
    let blocks = text.split("```promql\n").skip(1).filter_map(|block| block.split("```").next());
    let queries = blocks.map(|block| {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        lines.collect::<Vec<_>>().join("\n")
    });
    queries.collect()
}

/// The values of all fields `expr`.
fn find_queries<'v>(value: &'v Value, queries: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            queries.extend(fields.get("expr").and_then(Value::as_str));
            fields.values().for_each(|value| find_queries(value, queries));
        }
        Value::Array(values) => values.iter().for_each(|value| find_queries(value, queries)),
        _ => {}
    }
}

/// Each alert has a severity, a summary and a runbook with the four headings, and each runbook has an alert.
fn check_runbooks(rules: &[Rule], faults: &mut Vec<String>) -> anyhow::Result<()> {
    let mut runbooks: BTreeSet<String> = files(RUNBOOKS, "md")?
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "README")
        .collect();
    for rule in rules {
        let Some(alert) = &rule.alert else { continue };
        if !matches!(rule.severity(), Some("page" | "ticket")) {
            faults.push(format!("{alert}: the severity must be page or ticket"));
        }
        if !rule.annotations.contains_key("summary") {
            faults.push(format!("{alert}: no summary"));
        }
        let path = format!("{RUNBOOKS}/{alert}.md");
        if rule.annotations.get("runbook") != Some(&path) {
            faults.push(format!("{alert}: the annotation runbook must be {path}"));
        }
        let Ok(text) = std::fs::read_to_string(xtask::root().join(&path)) else {
            faults.push(format!("{alert}: no {path}"));
            continue;
        };
        runbooks.remove(alert);
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        if !text.starts_with(&format!("# {alert}\n")) || headings != HEADINGS {
            faults.push(format!("{path}: the headings must be # {alert}, {}", HEADINGS.join(", ")));
        }
    }
    faults.extend(runbooks.into_iter().map(|runbook| format!("{RUNBOOKS}/{runbook}.md: no such alert")));
    Ok(())
}

/// Each alert has a test in which it fires, and one in which it does not.
fn check_tests(rules: &[Rule], tests: &[PathBuf], faults: &mut Vec<String>) -> anyhow::Result<()> {
    let (mut firing, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for file in tests {
        let file: TestFile = yaml(file)?;
        for test in file.tests.into_iter().flat_map(|test| test.alert_rule_test) {
            let of = if test.exp_alerts.is_empty() { &mut silent } else { &mut firing };
            of.insert(test.alertname);
        }
    }
    for alert in rules.iter().filter_map(|rule| rule.alert.as_ref()) {
        if !firing.contains(alert) {
            faults.push(format!("{alert}: no test in {TESTS} in which it fires"));
        }
        if !silent.contains(alert) {
            faults.push(format!("{alert}: no test in {TESTS} in which it is silent"));
        }
    }
    Ok(())
}
