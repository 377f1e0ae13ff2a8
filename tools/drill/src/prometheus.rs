//! A Prometheus of this machine with the rules of the platform, on a folder of its own.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use machine::process::{self, Running};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Seconds between two scrapes.
const SCRAPE: u32 = 5;

/// A scrape target: the program, the address, further labels.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) job: String,
    pub(super) port: u16,
    pub(super) cluster: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct Prometheus {
    process: Running,
    base: String,
    http: reqwest::Client,
}

/// An alert that is firing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Firing {
    pub(super) alert: String,
    pub(super) severity: String,
    pub(super) labels: Vec<(String, String)>,
}

impl Firing {
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.labels.iter().any(|(label, found)| label == name && found == value)
    }

    pub(super) fn pages(&self) -> bool {
        self.severity == "page"
    }
}

/// An emptied folder for its data.
pub(super) fn fresh(folder: &Path) -> anyhow::Result<PathBuf> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    std::fs::create_dir_all(folder.join("data"))?;
    Ok(folder.to_owned())
}

/// Adds samples in OpenMetrics format to the data of a Prometheus that does not run.
pub(super) async fn load(folder: &Path, samples: &str) -> anyhow::Result<()> {
    let file = folder.join("samples.txt");
    std::fs::write(&file, samples)?;
    let mut promtool = process::command("promtool", Signal::SIGKILL);
    // blocks of days: a pass through the samples for each block
    promtool.args(["tsdb", "create-blocks-from", "--max-block-duration=64h", "openmetrics"]);
    promtool.arg(&file).arg(folder.join("data"));
    process::run("promtool tsdb create-blocks-from", promtool).await?;
    Ok(std::fs::remove_file(file)?)
}

impl Prometheus {
    /// Starts it on this folder. Without targets it evaluates no rules.
    pub(super) async fn start(folder: &Path, targets: &[Target]) -> anyhow::Result<Self> {
        let port = process::free_port()?;
        std::fs::write(folder.join("prometheus.yml"), configuration(targets))?;
        let log = std::fs::File::create(folder.join("prometheus.log"))?;
        let mut command = process::command("prometheus", Signal::SIGKILL);
        command
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .args(["--storage.tsdb.retention.time=1000d", "--log.level=warn"])
            .args(["--query.timeout=5m", "--query.max-samples=500000000"])
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let process = Running::spawn("prometheus", command)?;
        let http = reqwest::Client::builder().timeout(Duration::from_secs(300)).build()?;
        let mut started = Self { process, base: format!("http://127.0.0.1:{port}"), http };
        let ready = format!("{}/-/ready", started.base);
        process::until("Prometheus is ready", Duration::from_secs(60), async || {
            if let Some(how) = started.process.has_ended() {
                let log = std::fs::read_to_string(folder.join("prometheus.log")).unwrap_or_default();
                anyhow::bail!("Prometheus ended ({how}):\n{log}");
            }
            Ok(started.http.get(&ready).send().await.is_ok_and(|answer| answer.status().is_success()))
        })
        .await?;
        Ok(started)
    }

    pub(super) async fn stop(self) {
        self.process.stop(Signal::SIGTERM, Duration::from_secs(10)).await;
    }

    async fn get(&self, path: &str, parameters: &[(&str, &str)]) -> anyhow::Result<Value> {
        let answer = self.http.get(format!("{}/api/v1/{path}", self.base)).query(parameters).send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        ensure!(status.is_success(), "Prometheus refuses {parameters:?}: {}", body["error"]);
        Ok(body["data"].clone())
    }

    /// The series of an instant query.
    pub(super) async fn query(&self, query: &str) -> anyhow::Result<Vec<Value>> {
        let data = self.get("query", &[("query", query)]).await?;
        Ok(data["result"].as_array().context("no result")?.clone())
    }

    /// The series of a query over a time, each with its times, in seconds since 1970.
    pub(super) async fn times(
        &self,
        query: &str,
        from: i64,
        to: i64,
        step: i64,
    ) -> anyhow::Result<Vec<Vec<i64>>> {
        let (from, to, step) = (from.to_string(), to.to_string(), step.to_string());
        let parameters = [("query", query), ("start", &from), ("end", &to), ("step", &step)];
        let data = self.get("query_range", &parameters).await?;
        let series = data["result"].as_array().context("no result")?;
        let times = |series: &Value| {
            let values = series["values"].as_array().into_iter().flatten();
            #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
            values.filter_map(|value| value[0].as_f64()).map(|at| at as i64).collect()
        };
        Ok(series.iter().map(times).collect())
    }

    /// The alerts that are firing.
    pub(super) async fn firing(&self) -> anyhow::Result<Vec<Firing>> {
        let data = self.get("alerts", &[]).await?;
        let alerts = data["alerts"].as_array().context("no alerts")?;
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing").filter_map(|alert| {
            let labels: Vec<(String, String)> = alert["labels"]
                .as_object()?
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect();
            let label =
                |name: &str| labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.clone());
            Some(Firing {
                alert: label("alertname")?,
                severity: label("severity").unwrap_or_default(),
                labels,
            })
        });
        Ok(firing.collect())
    }

    /// Waits until all targets have been scraped twice and the rules have been evaluated.
    pub(super) async fn warmed_up(&self, targets: usize) -> anyhow::Result<()> {
        let scraped = format!("sum(count_over_time(up[2m]) >= bool 2) == {targets}");
        process::until("Prometheus has scraped the platform", Duration::from_secs(60), async || {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let rules = self.query("slo:api_availability:error_ratio_5m").await?;
            Ok(!rules.is_empty() && !self.query(&scraped).await?.is_empty())
        })
        .await
    }
}

fn configuration(targets: &[Target]) -> String {
    let mut text = format!(
        "global:\n  scrape_interval: {SCRAPE}s\n  scrape_timeout: 3s\n  evaluation_interval: {SCRAPE}s\n"
    );
    if targets.is_empty() {
        return text;
    }
    let rules = xtask::root().join(generated::observe::alerts::RULES);
    // writing to a String cannot fail
    let _ = write!(
        text,
        "rule_files: ['{}/*.yaml']\nscrape_configs:\n  - job_name: atelier\n    static_configs:\n",
        rules.display()
    );
    for Target { job, port, cluster } in targets {
        let cluster = cluster.map(|cluster| format!(", cluster: {cluster}")).unwrap_or_default();
        let _ =
            writeln!(text, "      - targets: ['127.0.0.1:{port}']\n        labels: {{job: {job}{cluster}}}");
    }
    text
}
