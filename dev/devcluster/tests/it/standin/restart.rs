//! Restarts: after a graceful stop, a kill of the process, an incomplete journal.

use crate::support::*;
use atelier_devcluster::{Cluster, Config, NodeConfig};
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use nix::sys::signal::{Signal, kill};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

async fn binary(dir: &Path) -> (Child, Client) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_atelier-devcluster"))
        .arg("--config")
        .arg(dir.join("config.toml"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let kubeconfig = line.trim().rsplit(' ').next().unwrap();
    (child, client_of(Path::new(kubeconfig)).await)
}

fn process_of(pod: &Pod, dir: &Path) -> Option<i32> {
    let record = dir.join("data/pods").join(pod.metadata.uid.as_ref().unwrap()).join("process");
    std::fs::read_to_string(record).ok()?.split_whitespace().next()?.parse().ok()
}

fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

/// Waits until a stop is well in the past: a restarted cluster cannot mistake the current time for the time of the stop, and the
/// last heartbeat of a node is older than a second.
async fn gap() -> jiff::Timestamp {
    let stopped = jiff::Timestamp::now();
    tokio::time::timeout(std::time::Duration::from_secs(10), async {
        while jiff::Timestamp::now() < stopped + jiff::SignedDuration::from_secs(3) {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await
    .unwrap();
    stopped
}

/// When the previous container ended, according to the status.
fn previous_end(pod: &Pod) -> jiff::Timestamp {
    let container = &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
    let last = container.last_state.as_ref().unwrap().terminated.as_ref().unwrap();
    last.finished_at.as_ref().unwrap().0
}

/// Configures a cluster with a node that runs processes. `options` are further lines.
fn configure(dir: &Path, options: &str) {
    let config = format!(
        "listen = \"127.0.0.1:0\"\ndata_dir = {:?}\n{options}\n[[nodes]]\nname = \"n1\"\n[[images]]\npattern = \"sh:*\"\nentrypoint = [\"/bin/sh\", \"-c\"]\n",
        dir.join("data")
    );
    std::fs::write(dir.join("config.toml"), config).unwrap();
}

/// Stops the process of a cluster for a while.
async fn suspend(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    gap().await;
    kill(pid, Signal::SIGCONT).unwrap();
}

#[tokio::test]
async fn a_suspended_cluster_does_not_lose_its_nodes() {
    let dir = tempfile::tempdir().unwrap();
    configure(dir.path(), "node_grace_seconds = 1");
    let (child, client) = binary(dir.path()).await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let mut value = pod("p", "sh:1", json!({}));
    value["spec"]["containers"][0]["args"] = json!(["exec sleep 1000"]);
    create(&pods, value).await;
    let before = until(&pods, "p", is_ready).await;
    for _ in 0..3 {
        suspend(&child).await;
        // after a heartbeat, both the kubelet and the node controller have run again
        let continued = jiff::Timestamp::now();
        until(&leases, "n1", |lease| {
            lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).is_some_and(|at| at.0 > continued)
        })
        .await;
    }
    let after = until(&pods, "p", is_ready).await;
    let conditions = |pod: &Pod| pod.status.as_ref().unwrap().conditions.clone().unwrap();
    assert_eq!(conditions(&after), conditions(&before));
}

#[tokio::test]
async fn a_killed_cluster_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    configure(dir.path(), "");
    let (mut child, client) = binary(dir.path()).await;
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let mut value = pod("p", "sh:1", json!({}));
    // the parent of the grandchild exits first, so that no process is left that could end it
    value["spec"]["containers"][0]["args"] = json!(["sleep 1000 & echo up; wait"]);
    create(&pods, value).await;
    let before = until(&pods, "p", is_ready).await;
    let pid = process_of(&before, dir.path()).unwrap();
    child.kill().await.unwrap();
    let killed = gap().await;

    let (mut child, client) = binary(dir.path()).await;
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let restarts =
        |p: &Pod| p.status.as_ref().unwrap().container_statuses.as_ref().map_or(0, |c| c[0].restart_count);
    let after = until(&pods, "p", |p| is_ready(p) && restarts(p) == 1).await;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert!(previous_end(&after) <= killed, "{} > {killed}", previous_end(&after));
    assert_eq!(after.status.as_ref().unwrap().pod_ip, before.status.unwrap().pod_ip);
    assert!(!alive(pid));
    let second = process_of(&after, dir.path()).unwrap();
    assert!(alive(second));

    // a graceful stop ends the processes and keeps the objects
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert!(child.wait().await.unwrap().success());
    assert!(!alive(second));
    let stopped = gap().await;
    let (_child, client) = binary(dir.path()).await;
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let third = until(&pods, "p", |p| is_ready(p) && restarts(p) == 2).await;
    assert!(previous_end(&third) <= stopped, "{} > {stopped}", previous_end(&third));
    pods.delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    gone(&pods, "p").await;
}

#[tokio::test]
async fn an_incomplete_last_line_of_the_journal_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::new(dir.path());
    config.nodes.push(NodeConfig::fake("f1"));
    let cluster = Cluster::start(config.clone()).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client(&cluster.url, &cluster.token).await, "default");
    create(&maps, json!({ "metadata": { "name": "a" }, "data": { "k": "v" } })).await;
    let gone_map = create(&maps, json!({ "metadata": { "name": "b" } })).await;
    maps.delete("b", &DeleteParams::default()).await.unwrap();
    cluster.stop().await;
    let mut journal =
        std::fs::OpenOptions::new().append(true).open(dir.path().join("journal.jsonl")).unwrap();
    journal.write_all(b"{\"k\":\"configmaps\",\"o\":{\"metadata\":{\"na").unwrap();
    drop(journal);
    let cluster = Cluster::start(config).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client(&cluster.url, &cluster.token).await, "default");
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["k"], "v");
    assert!(maps.get_opt("b").await.unwrap().is_none());
    let newer = create(&maps, json!({ "metadata": { "name": "c" } })).await;
    assert!(rv(&newer).parse::<u64>().unwrap() > rv(&gone_map).parse::<u64>().unwrap());
    cluster.stop().await;
}

#[tokio::test]
async fn unknown_configuration_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    std::fs::write(&file, "data_dir = \"x\"\ncolour = \"red\"\n").unwrap();
    assert!(format!("{:#}", Config::read(&file).unwrap_err()).contains("colour"));
}

#[tokio::test]
async fn a_watcher_continues_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let first = Cluster::start(Config::new(dir.path())).await.unwrap();
    let client = client_of(first.kubeconfig_path()).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let mut names =
        watcher(maps.clone(), watcher::Config::default()).default_backoff().applied_objects().boxed();
    let mut seen = async |wanted: &str| {
        // a restart appears as errors, which the watcher handles itself
        while !names.next().await.unwrap().is_ok_and(|map| map.name_any() == wanted) {}
    };
    create(&maps, json!({ "metadata": { "name": "before" } })).await;
    seen("before").await;
    // objects of another kind change meanwhile, so that the watcher's last version is older than the first one after the restart
    let pods: Api<Pod> = Api::namespaced(maps.clone().into_client(), "default");
    create(&pods, pod("later", "sh:1", json!({}))).await;
    let listen = first.url.trim_start_matches("http://").parse().unwrap();
    first.stop().await;
    let second = Cluster::start(Config { listen, ..Config::new(dir.path()) }).await.unwrap();
    create(&maps, json!({ "metadata": { "name": "after" } })).await;
    tokio::time::timeout(std::time::Duration::from_secs(30), seen("after")).await.unwrap();
    second.stop().await;
}
