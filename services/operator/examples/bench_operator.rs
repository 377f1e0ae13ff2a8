//! `cargo xtask bench operator`: thousands of units in a development cluster with fake nodes, and the operator as a
//! separate process. Prints a table and a last line
//! `operator: units=… p50_ms=… p99_ms=… writes_per_start=… steady_writes=… memory_per_unit_kib=…`.
//!
//! Arguments: `--units N` (5000), `--starts N` (500), `--at-a-time N` (8), `--steady-seconds N` (60).
//! The operator counts its own writes. They include Events, but not the renewals of its lease; those of new tenants'
//! namespaces have a row of their own, and are not in `writes_per_start`. So have those that the cluster refuses.

#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use atelier_operator::{Config, settings::Settings};
use auth::Callers;
use clap::Parser;
use crds::{GpuUnit, UnitState, names};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

/// As in the operator and the development cluster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GPUS_PER_NODE: u64 = 64;
const TENANTS: usize = 20;

#[derive(Debug, Parser)]
struct Args {
    #[arg(long, default_value_t = 5000)]
    units: usize,
    #[arg(long, default_value_t = 500)]
    starts: usize,
    #[arg(long, default_value_t = 8)]
    at_a_time: usize,
    #[arg(long, default_value_t = 60)]
    steady_seconds: u64,
    /// Be the operator of the cluster with this kubeconfig, at this address.
    #[arg(long, hide = true, requires = "listen")]
    operator: Option<PathBuf>,
    #[arg(long, hide = true)]
    listen: Option<SocketAddr>,
}

/// What the watches of this process have observed.
#[derive(Default)]
struct Seen {
    held: HashMap<String, bool>,
    state: HashMap<String, UnitState>,
    pod_made: HashMap<String, Instant>,
}

type Shared = Arc<Mutex<Seen>>;

fn lock(seen: &Shared) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let args = Args::parse();
    runtime.block_on(async {
        match (&args.operator, args.listen) {
            (Some(kubeconfig), Some(listen)) => {
                let config = config(kubeconfig.clone(), listen);
                Box::pin(atelier_operator::App::serve(config, service::Process::on_signal()?)).await
            }
            _ => Box::pin(measure(&args)).await,
        }
    })
}

fn config(kubeconfig: PathBuf, listen: SocketAddr) -> Config {
    Config {
        listen,
        callers: Callers::new(),
        kubeconfig: Some(kubeconfig),
        context: None,
        identity: None,
        install: false,
        workers: 32,
        lease_seconds: 3,
        gpu_resource: "nvidia.com/gpu".to_owned(),
        telemetry: None,
        settings: Settings::default(),
    }
}

async fn measure(args: &Args) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut config = devcluster::Config::new(folder.path());
    config.journal = false;
    // as in Kubernetes, unless a count fails
    config.quota_count_ms = 0;
    let nodes = u64::try_from(args.units)?.div_ceil(GPUS_PER_NODE) + 1;
    config.nodes = (0..nodes)
        .map(|n| {
            let mut node =
                devcluster::NodeConfig::fake(format!("node-{n}")).extended("nvidia.com/gpu", GPUS_PER_NODE);
            "1024".clone_into(&mut node.cpu);
            "8Ti".clone_into(&mut node.memory);
            node
        })
        .collect();
    let cluster = devcluster::Cluster::start(config).await?;
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig_path())?;
    let kube = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(kube)?;
    atelier_operator::controller::install(&client).await?;
    let listen = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut operator = start_operator(cluster.kubeconfig_path(), listen)?;
    let http = reqwest::Client::new();
    let metrics = format!("http://{listen}/metrics");

    let seen = Shared::default();
    tokio::spawn(watch_units(client.clone(), Arc::clone(&seen)));
    tokio::spawn(watch_pods(client.clone(), Arc::clone(&seen)));
    until("the operator leads", Duration::from_secs(30), async || {
        Ok(scrape(&http, &metrics)
            .await
            .is_some_and(|text| text.lines().any(|line| line == "operator_leader 1")))
    })
    .await?;
    let empty = memory_kib(operator.id())?;

    let units: Api<GpuUnit> = Api::all(client.clone());
    let begun = Instant::now();
    stream::iter(0..args.units)
        .map(|n| {
            let units = units.clone();
            async move {
                units.create(&PostParams::default(), &unit(n)?).await.map(drop).map_err(anyhow::Error::from)
            }
        })
        .buffer_unordered(32)
        .try_collect::<Vec<()>>()
        .await?;
    until("every unit holds its place", Duration::from_secs(900), async || {
        Ok(lock(&seen).held.values().filter(|held| **held).count() == args.units)
    })
    .await?;
    row("units", args.units, "");
    row("all hold their place after", format!("{:.1}", begun.elapsed().as_secs_f64()), "s");
    let full = memory_kib(operator.id())?;

    // count once the Events of the setup are written
    quiet(&http, &metrics).await?;
    let before = writes(&http, &metrics).await?;
    tokio::time::sleep(Duration::from_secs(args.steady_seconds)).await;
    let steady = writes(&http, &metrics).await? - before;
    row(&format!("writes in {} s of rest", args.steady_seconds), steady, "");

    let before = writes(&http, &metrics).await?;
    let kinds_before = by_kind(&http, &metrics, &BTreeMap::new()).await?;
    let starts = args.starts.min(args.units);
    let times: Vec<Start> = stream::iter(0..starts)
        .map(|n| start_one(units.clone(), Arc::clone(&seen), n))
        .buffer_unordered(args.at_a_time)
        .try_collect()
        .await?;
    quiet(&http, &metrics).await?;
    let namespaces =
        by_kind(&http, &metrics, &BTreeMap::new()).await?.get("tenant").copied().unwrap_or_default();
    let per_start = (writes(&http, &metrics).await? - before - namespaces) / count(starts);
    let (p50, p99) = percentiles(times.iter().map(|time| time.pod_ms).collect());
    let (first50, first99) =
        percentiles(times.iter().filter(|time| time.n < TENANTS).map(|time| time.pod_ms).collect());
    let (run50, run99) = percentiles(times.iter().map(|time| time.running_ms).collect());
    row("starts", starts, &format!("{} at a time", args.at_a_time));
    row("start to pod made, p50", format!("{p50:.1}"), "ms");
    row("start to pod made, p99", format!("{p99:.1}"), "ms");
    row("  tenants' first starts, p50", format!("{first50:.1}"), "ms");
    row("  tenants' first starts, slowest", format!("{first99:.1}"), "ms");
    row("start to running, p50", format!("{run50:.1}"), "ms");
    row("start to running, p99", format!("{run99:.1}"), "ms");
    row("writes per start", format!("{per_start:.2}"), "");
    for (kind, writes) in by_kind(&http, &metrics, &kinds_before).await? {
        row(&format!("  {kind}"), format!("{:.2}", writes / count(starts)), "");
    }
    row("writes per new tenant", format!("{:.2}", namespaces / count(TENANTS.min(starts))), "");
    row("writes refused, per start", format!("{:.2}", refused(&http, &metrics).await? / count(starts)), "");

    let before = writes(&http, &metrics).await?;
    stream::iter(0..starts)
        .map(|n| {
            let units = units.clone();
            async move { patch(&units, n, &json!({"spec": {"instance": null}})).await }
        })
        .buffer_unordered(args.at_a_time)
        .try_collect::<Vec<()>>()
        .await?;
    until("every unit is idle", Duration::from_secs(300), async || {
        let seen = lock(&seen);
        Ok(seen.state.values().all(|state| *state == UnitState::Init) && seen.held.values().all(|held| *held))
    })
    .await?;
    quiet(&http, &metrics).await?;
    row("writes per stop", format!("{:.2}", (writes(&http, &metrics).await? - before) / count(starts)), "");
    let memory = (full.saturating_sub(empty)) / u64::try_from(args.units)?.max(1);
    row("memory of the operator, empty", empty / 1024, "MiB");
    row("memory of the operator, full", full / 1024, "MiB");
    operator.kill()?;
    operator.wait()?;
    cluster.stop().await;
    println!(
        "operator: units={} p50_ms={p50:.1} p99_ms={p99:.1} writes_per_start={per_start:.2} steady_writes={steady} memory_per_unit_kib={memory}",
        args.units
    );
    Ok(())
}

fn row(what: &str, value: impl std::fmt::Display, unit: &str) {
    println!("  {what:<34} {value:>10} {unit}");
}

fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from).max(1.0)
}

fn start_operator(kubeconfig: &Path, listen: SocketAddr) -> anyhow::Result<std::process::Child> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command
        .arg("--operator")
        .arg(kubeconfig)
        .args(["--listen", &listen.to_string()])
        .stderr(std::process::Stdio::inherit());
    command.spawn().context("cannot start the operator")
}

fn unit_name(n: usize) -> String {
    format!("unit-{n:032x}")
}

fn unit(n: usize) -> anyhow::Result<GpuUnit> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit", "metadata": {"name": unit_name(n)},
        "spec": {"gpuSpec": "bench", "resources": {"cpu": "4", "memory": "16Gi"},
            "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "device", "resource": "nvidia.com/gpu"}}},
    }))?)
}

async fn patch(units: &Api<GpuUnit>, n: usize, body: &serde_json::Value) -> anyhow::Result<()> {
    units.patch(&unit_name(n), &PatchParams::default(), &Patch::Merge(body)).await?;
    Ok(())
}

/// The milliseconds until the pod of a started instance was created, and until it ran.
struct Start {
    n: usize,
    pod_ms: f64,
    running_ms: f64,
}

async fn start_one(units: Api<GpuUnit>, seen: Shared, n: usize) -> anyhow::Result<Start> {
    let id = format!("inst-{n:032x}");
    let instance = json!({
        "id": id, "attempt": 1, "tenantId": format!("ten-{:032x}", n % TENANTS), "image": "atelier/webui:1.6",
        "ports": [{"port": 7860, "isPublic": true, "isProbe": true, "baseUrl": "/"}], "startTimeoutSeconds": 60,
    });
    let begun = Instant::now();
    patch(&units, n, &json!({"spec": {"instance": instance}})).await?;
    until("the instance runs, and its pod was observed", Duration::from_secs(120), async || {
        let seen = lock(&seen);
        let name = unit_name(n);
        Ok(seen.state.get(&name) == Some(&UnitState::Running) && seen.pod_made.contains_key(&name))
    })
    .await?;
    let ran = begun.elapsed();
    let made = lock(&seen).pod_made.get(&unit_name(n)).copied().context("no pod was observed")?;
    let pod_ms = made.duration_since(begun).as_secs_f64() * 1000.0;
    Ok(Start { n, pod_ms, running_ms: ran.as_secs_f64() * 1000.0 })
}

async fn watch_units(client: Client, seen: Shared) {
    let stream =
        watcher(Api::<GpuUnit>::all(client), watcher::Config::default()).default_backoff().applied_objects();
    futures::pin_mut!(stream);
    while let Some(event) = stream.next().await {
        let Ok(unit) = event else { continue };
        let status = unit.status.clone().unwrap_or_default();
        let mut seen = lock(&seen);
        seen.held.insert(unit.name_any(), status.is_held());
        seen.state.insert(unit.name_any(), status.state);
    }
}

async fn watch_pods(client: Client, seen: Shared) {
    let config =
        watcher::Config::default().labels(&format!("{}={}", names::LABEL_ROLE, names::ROLE_INSTANCE));
    let stream = watcher(Api::<Pod>::all(client), config).default_backoff().applied_objects();
    futures::pin_mut!(stream);
    while let Some(event) = stream.next().await {
        let Ok(pod) = event else { continue };
        if let Some(unit) = pod.labels().get(names::LABEL_UNIT) {
            lock(&seen).pod_made.entry(unit.clone()).or_insert_with(Instant::now);
        }
    }
}

async fn until(
    what: &str,
    limit: Duration,
    mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so().await? {
        if begun.elapsed() > limit {
            bail!("not within {} s: {what}", limit.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    Ok(())
}

async fn scrape(http: &reqwest::Client, url: &str) -> Option<String> {
    http.get(url).send().await.ok()?.text().await.ok()
}

/// The number of writes of the operator.
async fn writes(http: &reqwest::Client, url: &str) -> anyhow::Result<f64> {
    Ok(by_kind(http, url, &BTreeMap::new()).await?.values().sum())
}

/// The number of writes that the cluster has refused.
async fn refused(http: &reqwest::Client, url: &str) -> anyhow::Result<f64> {
    let text = scrape(http, url).await.context("the operator does not respond")?;
    let lines = text.lines().filter(|line| line.starts_with("operator_refused_writes_total{"));
    Ok(lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).fold(0.0, |sum, n| sum + n))
}

/// The number of writes of each kind since `before`.
async fn by_kind(
    http: &reqwest::Client,
    url: &str,
    before: &BTreeMap<String, f64>,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let text = scrape(http, url).await.context("the operator does not respond")?;
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("operator_writes_total{kind=\"")?.split_once("\"} "));
    let counts = lines.filter_map(|(kind, count)| {
        let since = count.parse::<f64>().ok()? - before.get(kind).copied().unwrap_or_default();
        (since > 0.0).then(|| (kind.to_owned(), since))
    });
    Ok(counts.collect())
}

/// Waits until nothing has been written for a second.
async fn quiet(http: &reqwest::Client, url: &str) -> anyhow::Result<()> {
    let mut last = -1.0;
    loop {
        let now = writes(http, url).await?;
        if now <= last {
            return Ok(());
        }
        last = now;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn percentiles(mut all: Vec<f64>) -> (f64, f64) {
    all.sort_by(f64::total_cmp);
    let at = |percent: usize| {
        all.get((all.len() * percent / 100).min(all.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

/// Resident memory in KiB.
fn memory_kib(process: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("no figure")?.parse()?)
}
