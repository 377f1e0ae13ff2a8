//! How a fault is injected and ended.

use std::time::Duration;

use anyhow::{Context, bail};
use jiff::SignedDuration;
use machine::{control::Changes, process};
use nix::sys::signal::{Signal, kill};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use super::{environment::Environment, faults::Action, proxy};

/// Part of the time in which a slow process runs.
const SLOW_RUNS: Duration = Duration::from_millis(60);
const SLOW_RESTS: Duration = Duration::from_millis(440);

/// A fault that lasts. Dropped without [`Injected::end`], the platform is left as it is.
pub(super) struct Injected {
    action: Action,
    /// Connections that hold something.
    connections: Vec<PgConnection>,
    /// Objects to remove.
    left: Vec<String>,
}

impl Injected {
    /// Injects a fault.
    pub(super) async fn new(environment: &Environment, action: Action) -> anyhow::Result<Self> {
        let mut injected = Self { action, connections: Vec::new(), left: Vec::new() };
        injected.begin(environment).await?;
        Ok(injected)
    }

    async fn begin(&mut self, environment: &Environment) -> anyhow::Result<()> {
        match self.action {
            Action::Down(names) => {
                for name in names {
                    environment.control(name)?.hold(true);
                }
                environment.signal(names, Signal::SIGKILL)?;
            }
            Action::Kill(names) => environment.signal(names, Signal::SIGKILL)?,
            Action::Hang(names) => environment.signal(names, Signal::SIGSTOP)?,
            Action::ToPostgres(fault) => environment.proxies.postgres.set(fault),
            Action::ToCluster(fault) => environment.proxies.cluster.set(fault),
            Action::ToObjectStore(fault) => environment.proxies.object_store.set(fault),
            Action::SlowCommits => {
                slow_commits(environment, Some("100000")).await?;
            }
            Action::NoConnections => self.take_connections(environment).await?,
            Action::Locked => {
                let mut connection = environment.database().await?;
                sqlx::raw_sql("begin; lock table gpu.instances in access exclusive mode")
                    .execute(&mut connection)
                    .await?;
                self.connections.push(connection);
            }
            Action::NodeLost => self.switch_node(environment, "fail").await?,
            Action::Cordoned => cordon(environment, true).await?,
            Action::Full => self.fill_nodes(environment).await?,
            Action::InstanceKilled => {
                let resident = environment.users.resident().context("no instance is on")?.replace('_', "-");
                kill_webui(environment, &resident).await?;
            }
            Action::NoImage => self.order_without_image(environment).await?,
            Action::LogDiskFull(name) => {
                let changes = Changes { log_is_full: true, ..Changes::default() };
                environment.control(name)?.change(changes);
                environment.signal(&[name], Signal::SIGTERM)?;
            }
            Action::Clock(name, seconds) => {
                let variables = vec![
                    ("LD_PRELOAD", xtask::packages::FAKETIME.to_owned()),
                    ("FAKETIME", format!("{seconds:+}s")),
                    ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
                ];
                environment.control(name)?.change(Changes { variables, ..Changes::default() });
                environment.signal(&[name], Signal::SIGTERM)?;
            }
            Action::Certificate => {
                super::certificate::write(&environment.tls, SignedDuration::from_hours(-1))?;
            }
            Action::PoisonUnit => self.create_unit(environment).await?,
            Action::PoisonRow => self.poison_row(environment).await?,
            Action::Slow(_) | Action::KeyRotation => {}
            Action::Not(reason) => bail!("not injected: {reason}"),
        }
        Ok(())
    }

    /// Keeps the fault up, without an end.
    pub(super) async fn last(&self, environment: &Environment) -> anyhow::Error {
        let lasting = async {
            match self.action {
                Action::Slow(names) => loop {
                    environment.signal(names, Signal::SIGSTOP)?;
                    tokio::time::sleep(SLOW_RESTS).await;
                    environment.signal(names, Signal::SIGCONT)?;
                    tokio::time::sleep(SLOW_RUNS).await;
                },
                Action::KeyRotation => loop {
                    let admin = environment.administrator().await?;
                    let asked = admin.send(Method::POST, "/v1/signing-keys/rotate", None, None).await?;
                    // 409 while the last rotation is under way
                    anyhow::ensure!(matches!(asked.status, 202 | 409), "no rotation: {}", asked.text);
                    environment.users.sign_in().await;
                    tokio::time::sleep(Duration::from_secs(3)).await;
                },
                _ => std::future::pending::<anyhow::Result<()>>().await,
            }
        };
        match lasting.await {
            Ok(()) => anyhow::anyhow!("the fault ended by itself"),
            Err(error) => error,
        }
    }

    /// Ends the fault.
    pub(super) async fn end(mut self, environment: &Environment) -> anyhow::Result<()> {
        match self.action {
            Action::Down(names) => {
                for name in names {
                    environment.control(name)?.hold(false);
                }
            }
            Action::Hang(names) | Action::Slow(names) => environment.signal(names, Signal::SIGCONT)?,
            Action::ToPostgres(_) => environment.proxies.postgres.set(proxy::Fault::None),
            Action::ToCluster(_) => environment.proxies.cluster.set(proxy::Fault::None),
            Action::ToObjectStore(_) => environment.proxies.object_store.set(proxy::Fault::None),
            Action::SlowCommits => slow_commits(environment, None).await?,
            Action::NoConnections | Action::Locked => self.connections.clear(),
            Action::NodeLost => self.switch_node(environment, "recover").await?,
            Action::Cordoned => cordon(environment, false).await?,
            Action::LogDiskFull(name) | Action::Clock(name, _) => {
                environment.control(name)?.change(Changes::default());
                environment.signal(&[name], Signal::SIGTERM)?;
            }
            Action::Certificate => {
                super::certificate::write(&environment.tls, SignedDuration::from_hours(90 * 24))?;
            }
            Action::Full | Action::PoisonUnit => {
                for path in &self.left {
                    // the platform may have removed it
                    let _ = environment.cluster.send(Method::DELETE, path, None).await;
                }
            }
            Action::NoImage => self.delete_without_image(environment).await?,
            Action::PoisonRow => {
                let mut database = environment.database().await?;
                let restored = sqlx::query(
                    "update storage.storages set state = 'available', reason = null, wake_at = now() where id::text = $1",
                );
                restored.bind(self.left.last()).execute(&mut database).await?;
                let id = self.left.last().context("no storage")?.replace('-', "");
                environment.users.designer().delete(&format!("/v1/storages/stor_{id}"), 202).await?;
            }
            Action::Kill(_) | Action::InstanceKilled | Action::KeyRotation | Action::Not(_) => {}
        }
        Ok(())
    }

    /// Takes all connections of Postgres, those of the services included.
    /// Takes connections until the services have none.
    async fn take_connections(&mut self, environment: &Environment) -> anyhow::Result<()> {
        let mut database = environment.database().await?;
        let theirs = "select pg_terminate_backend(pid) from pg_stat_activity where usename like 'atelier%'";
        let options: PgConnectOptions = environment.superuser();
        for _ in 0..20 {
            // between its end and the taking of its slot, a service may have connected again
            let ended = sqlx::query(theirs).execute(&mut database).await?.rows_affected();
            let taken =
                futures::future::join_all((0..80).map(|_| PgConnection::connect_with(&options))).await;
            let taken: Vec<PgConnection> = taken.into_iter().flatten().collect();
            if ended == 0 && taken.is_empty() {
                return Ok(());
            }
            self.connections.extend(taken);
        }
        bail!("the services connect again and again")
    }

    async fn switch_node(&self, environment: &Environment, action: &str) -> anyhow::Result<()> {
        let path = format!("/devcluster/nodes/node-2/{action}");
        environment.cluster.send(Method::POST, &path, Some(&json!({}))).await.map(drop)
    }

    /// A pod on each node with all GPUs that are free.
    async fn fill_nodes(&mut self, environment: &Environment) -> anyhow::Result<()> {
        let pods = environment.cluster.list("/api/v1/pods").await?;
        for node in ["node-1", "node-2"] {
            let used: u64 = pods.iter().filter(|pod| pod["spec"]["nodeName"] == node).map(gpus).sum();
            let free = 32_u64.saturating_sub(used);
            let name = format!("other-{node}");
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
                "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "registry.k8s.io/pause:3.10",
                    "resources": { "limits": { "nvidia.com/gpu": free.to_string() } } }] },
            });
            environment.cluster.send(Method::POST, "/api/v1/namespaces/default/pods", Some(&pod)).await?;
            self.left.push(format!("/api/v1/namespaces/default/pods/{name}"));
        }
        Ok(())
    }

    async fn order_without_image(&mut self, environment: &Environment) -> anyhow::Result<()> {
        let admin = environment.administrator().await?;
        let services = admin.list("/v1/services").await?;
        if !services.iter().any(|service| service["version"] == "0.0") {
            let body = json!({
                "service": "stable-diffusion-webui", "version": "0.0", "description": "An image that does not exist",
                "template": {
                    "image": "registry.invalid/webui:0.0",
                    "ports": [{ "port": 7860, "protocol": "TCP", "is_public": true, "is_probe": true, "base_url": "/" }],
                    "start_timeout_seconds": 60,
                },
            });
            admin.post("/v1/services", body, 201).await?;
        }
        let (id, _) = environment.users.order(&environment.users.designer(), "imageless", "0.0").await?;
        self.left.push(id);
        Ok(())
    }

    async fn delete_without_image(&self, environment: &Environment) -> anyhow::Result<()> {
        for id in &self.left {
            environment.users.designer().delete(&format!("/v1/instances/{id}"), 202).await?;
        }
        Ok(())
    }

    /// A unit with the label of the stock service that it never created.
    async fn create_unit(&mut self, environment: &Environment) -> anyhow::Result<()> {
        const UNITS: &str = "/apis/atelier.dev/v1alpha1/gpuunits";
        let like = environment.cluster.list(UNITS).await?.into_iter().next().context("no unit")?;
        let name = format!("unit-{}", uuid::Uuid::new_v4().simple());
        let mut spec = like["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("instance");
        }
        let unit = json!({
            "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit",
            "metadata": { "name": name, "labels": like["metadata"]["labels"] }, "spec": spec,
        });
        environment.cluster.send(Method::POST, UNITS, Some(&unit)).await?;
        self.left.push(format!("{UNITS}/{name}"));
        Ok(())
    }

    /// A bucket whose row cannot be read.
    async fn poison_row(&mut self, environment: &Environment) -> anyhow::Result<()> {
        let designer = environment.users.designer();
        let name = format!("poison-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let body = json!({ "name": name, "storage_spec": "archive", "size_gib": 1 });
        let made = designer.post("/v1/storages", body, 202).await?;
        designer.follow("storage-operations", &made["operation_id"]).await?;
        let id = made["id"].as_str().and_then(|id| id.split_once('_')).context("no id")?.1.to_owned();
        let id = uuid::Uuid::parse_str(&id)?.hyphenated().to_string();
        let mut database = environment.database().await?;
        // a failure without a reason cannot be read
        let poison = "update storage.storages set state = 'failed', reason = null, wake_at = now() where id::text = $1";
        sqlx::query(poison).bind(&id).execute(&mut database).await?;
        self.left.push(id);
        Ok(())
    }
}

/// Sets or resets the delay of commits, in microseconds.
async fn slow_commits(environment: &Environment, delay: Option<&str>) -> anyhow::Result<()> {
    let mut database = environment.database().await?;
    let set = match delay {
        Some("100000") => ["alter system set commit_delay = 100000", "alter system set commit_siblings = 0"],
        _ => ["alter system reset commit_delay", "alter system reset commit_siblings"],
    };
    for statement in set {
        sqlx::query(statement).execute(&mut database).await?;
    }
    sqlx::query("select pg_reload_conf()").execute(&mut database).await?;
    Ok(())
}

async fn cordon(environment: &Environment, cordoned: bool) -> anyhow::Result<()> {
    for node in ["node-1", "node-2"] {
        let patch = json!({ "spec": { "unschedulable": cordoned } });
        environment.cluster.send(Method::PATCH, &format!("/api/v1/nodes/{node}"), Some(&patch)).await?;
    }
    Ok(())
}

/// GPUs that a pod has.
fn gpus(pod: &Value) -> u64 {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let of =
        |container: &Value| container["resources"]["limits"]["nvidia.com/gpu"].as_str()?.parse::<u64>().ok();
    containers.filter_map(of).sum()
}

/// Kills the process of an instance's pod: the one that has the pod's address or uid in its environment or folder.
async fn kill_webui(environment: &Environment, instance: &str) -> anyhow::Result<()> {
    let pods = environment.cluster.list("/api/v1/pods").await?;
    let of = |pod: &&Value| pod["metadata"]["labels"]["atelier.dev/instance"] == instance;
    let pod = pods.iter().find(of).context("the instance has no pod")?;
    let uid = pod["metadata"]["uid"].as_str().context("the pod has no uid")?;
    let address = pod["status"]["podIP"].as_str().context("the pod has no address")?;
    let mut killed = 0;
    for pid in process::with_command_line("atelier-webui")? {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let about = format!("{} {}", String::from_utf8_lossy(&environment), folder.display());
        if about.contains(uid) || about.contains(address) {
            kill(pid, Signal::SIGKILL)?;
            killed += 1;
        }
    }
    anyhow::ensure!(killed > 0, "the process of the pod was not found");
    Ok(())
}
