//! Pods as processes: probes, logs, exec, volumes, restarts, termination, failing nodes.

use crate::support::*;
use atelier_devcluster::{Config, ImageConfig, NodeConfig};
use futures::{AsyncBufReadExt, StreamExt};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret};
use kube::api::{Api, AttachParams, DeleteParams, LogParams};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::eventually;
use tokio::io::AsyncReadExt;

fn real(c: &mut Config) {
    c.nodes.push(NodeConfig::new("n1"));
    c.images.push(ImageConfig::new("sh:*", ["/bin/sh", "-c"]));
    c.eviction_seconds = 0;
}

fn shell(name: &str, script: &str, extra: Value) -> Value {
    let mut value = pod(name, "sh:1", extra);
    value["spec"]["containers"][0]["args"] = json!([script]);
    value
}

fn container(p: &Pod) -> Value {
    p.status
        .as_ref()
        .and_then(|s| s.container_statuses.as_ref())
        .map_or(Value::Null, |c| serde_json::to_value(&c[0]).unwrap())
}

#[tokio::test]
async fn pods_of_two_clusters_have_different_addresses() {
    let mut addresses = Vec::new();
    let clusters = [Test::with(real).await, Test::with(real).await];
    for t in &clusters {
        create(&t.pods(), shell("p", "exec sleep 1000", json!({}))).await;
        let p = until(&t.pods(), "p", is_ready).await;
        addresses.push(p.status.unwrap().pod_ip.unwrap());
    }
    assert_ne!(addresses[0], addresses[1]);
}

#[tokio::test]
async fn a_pod_starts_only_on_a_node_with_the_handler_of_its_class() {
    let t = Test::with(|c| {
        real(c);
        c.nodes[0].runtime_handlers.push("runsc".to_owned());
    })
    .await;
    let classes: Api<k8s_openapi::api::node::v1::RuntimeClass> = Api::all(t.client.clone());
    for (name, handler) in [("gvisor", "runsc"), ("kata", "kata-qemu")] {
        create(&classes, json!({ "metadata": { "name": name }, "handler": handler })).await;
    }
    for name in ["gvisor", "kata"] {
        let class = json!({ "runtimeClassName": name });
        create(&t.pods(), shell(name, "exec sleep 1000", class)).await;
    }
    until(&t.pods(), "gvisor", is_ready).await;
    let waits = |pod: &Pod| {
        let waiting = &container(pod)["state"]["waiting"];
        waiting["reason"] == "ContainerCreating"
            && waiting["message"].as_str().is_some_and(|text| text.contains("no runtime for \"kata-qemu\""))
    };
    until(&t.pods(), "kata", waits).await;
    t.stop().await;
}

#[tokio::test]
async fn a_pod_becomes_ready_logs_and_terminates() {
    let t = Test::with(real).await;
    let pods = t.pods();
    let script = "echo hello; trap 'echo bye; exit 0' TERM; touch \"$ATELIER_ROOTFS/up\"; while :; do sleep 0.05; done";
    let probe = json!({ "containers": [{ "name": "main", "image": "sh:1", "readinessProbe": { "exec": { "command": ["test", "-e", "up"] } }, "env": [
        { "name": "WHO", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }, { "name": "GREETING", "value": "hi $(WHO)" } ] }] });
    let begun = Instant::now();
    create(&pods, shell("p", script, probe)).await;
    let p = until(&pods, "p", is_ready).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    let address: std::net::Ipv4Addr = p.status.as_ref().unwrap().pod_ip.as_ref().unwrap().parse().unwrap();
    assert!(matches!(address.octets(), [127, 64..128, ..]), "{address}");
    assert_eq!(pods.logs("p", &LogParams::default()).await.unwrap(), "hello\n");
    let stamped = pods
        .logs("p", &LogParams { timestamps: true, tail_lines: Some(1), ..LogParams::default() })
        .await
        .unwrap();
    assert!(stamped.starts_with("20") && stamped.ends_with("Z hello\n"), "{stamped}");

    let mut run = pods
        .exec(
            "p",
            ["sh", "-c", "echo $GREETING from $POD_IP; cat; exit 7"],
            &AttachParams::default().stdin(true).stderr(false),
        )
        .await
        .unwrap();
    let mut stdin = run.stdin().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"typed\n").await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut stdin).await.unwrap();
    let mut out = String::new();
    let status = run.take_status().unwrap();
    run.stdout().unwrap().read_to_string(&mut out).await.unwrap();
    assert_eq!(out, format!("hi p from {}\ntyped\n", p.status.unwrap().pod_ip.unwrap()));
    let status = status.await.unwrap();
    assert_eq!(status.details.unwrap().causes.unwrap()[0].message.as_deref(), Some("7"));

    pods.delete("p", &DeleteParams::default()).await.unwrap();
    gone(&pods, "p").await;
    assert_eq!(std::fs::read_dir(t.dir.path().join("data/pods")).unwrap().count(), 0);
    t.stop().await;
}

#[tokio::test]
async fn a_command_that_closes_its_output_reads_to_the_end_of_its_input() {
    let t = Test::with(real).await;
    let pods = t.pods();
    create(&pods, shell("p", "exec sleep 1000", json!({}))).await;
    until(&pods, "p", is_ready).await;
    let script = "exec >/dev/null 2>&1; cat >part; mv part whole; exit 3";
    let streams = AttachParams::default().stdin(true);
    let mut run = pods.exec("p", ["sh", "-c", script], &streams).await.unwrap();
    let (mut stdin, mut stdout) = (run.stdin().unwrap(), run.stdout().unwrap());
    let status = run.take_status().unwrap();
    // the end of the output has come before anything is sent
    let wait = ["sh", "-c", "until [ -e part ]; do sleep 0.05; done"];
    let mut closed = pods.exec("p", wait, &AttachParams::default()).await.unwrap();
    closed.take_status().unwrap().await;
    tokio::io::AsyncWriteExt::write_all(&mut stdin, &vec![b'x'; 1024 * 1024]).await.unwrap();
    tokio::io::AsyncWriteExt::shutdown(&mut stdin).await.unwrap();
    let status = status.await.unwrap();
    assert_eq!(status.details.unwrap().causes.unwrap()[0].message.as_deref(), Some("3"));
    assert_eq!(stdout.read_to_string(&mut String::new()).await.unwrap(), 0);
    let mut size = pods.exec("p", ["stat", "-c", "%s", "whole"], &AttachParams::default()).await.unwrap();
    let mut out = String::new();
    size.stdout().unwrap().read_to_string(&mut out).await.unwrap();
    assert_eq!(out, "1048576\n");
    t.stop().await;
}

#[tokio::test]
async fn a_pod_that_has_ended_makes_room_before_it_is_deleted() {
    let t = Test::with(|c| {
        c.nodes.push(NodeConfig::new("n1").extended("nvidia.com/gpu", 1));
        c.images.push(ImageConfig::new("sh:*", ["/bin/sh", "-c"]));
    })
    .await;
    let pods = t.pods();
    let status = |pod: &Pod| pod.status.clone().unwrap_or_default();
    for n in 0..20 {
        let mut next = shell(&format!("p{n}"), "true", json!({ "nodeName": "n1", "restartPolicy": "Never" }));
        next["spec"]["containers"][0]["resources"] = json!({ "limits": { "nvidia.com/gpu": "1" } });
        create(&pods, next).await;
        let is_over = |pod: &Pod| matches!(status(pod).phase.as_deref(), Some("Succeeded" | "Failed"));
        let ended = until(&pods, &format!("p{n}"), is_over).await;
        assert_eq!(status(&ended).reason, None, "pod {n}: {:?}", status(&ended).message);
    }
    t.stop().await;
}

#[tokio::test]
async fn a_terminal_is_a_terminal() {
    let t = Test::with(real).await;
    let pods = t.pods();
    create(&pods, shell("p", "exec sleep 100", json!({}))).await;
    until(&pods, "p", is_ready).await;
    let mut run = pods
        .exec(
            "p",
            ["sh", "-c", "test -t 0 && test -t 1 && read x && until stty size | grep -v '^0 0'; do sleep 0.05; done && echo done"],
            &AttachParams::interactive_tty(),
        )
        .await
        .unwrap();
    let mut size = run.terminal_size().unwrap();
    futures::SinkExt::send(&mut size, kube::api::TerminalSize { width: 101, height: 33 }).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut run.stdin().unwrap(), b"x\n").await.unwrap();
    let mut out = String::new();
    run.stdout().unwrap().read_to_string(&mut out).await.unwrap();
    assert!(out.contains("33 101") && out.contains("done"), "{out}");
    t.stop().await;
}

/// A listener that sends its name and then what it receives.
async fn echo(address: &str, name: &'static str) -> u16 {
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::AsyncWriteExt::write_all(&mut write, name.as_bytes()).await.unwrap();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn ports_are_forwarded_to_the_pod() {
    let t = Test::with(real).await;
    let pods = t.pods();
    create(&pods, shell("p", "exec sleep 100", json!({}))).await;
    let ip = until(&pods, "p", is_ready).await.status.unwrap().pod_ip.unwrap();
    // the addresses of pods are addresses of this machine
    let (own, local) = (echo(&format!("{ip}:0"), "own ").await, echo("127.0.0.1:0", "local ").await);
    let mut both = pods.portforward("p", &[own, local]).await.unwrap();
    for (port, name) in [(own, "own "), (local, "local ")] {
        let mut stream = both.take_stream(port).unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"typed").await.unwrap();
        let mut got = vec![0; name.len() + 5];
        stream.read_exact(&mut got).await.unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), format!("{name}typed"));
    }
    // the error says that nothing listens on the port
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut none = pods.portforward("p", &[free]).await.unwrap();
    let error = none.take_error(free).unwrap().await.unwrap();
    assert!(error.contains(&format!("error forwarding port {free} to pod")), "{error}");
    assert!(pods.portforward("missing", &[own]).await.is_err());
    t.stop().await;
}

#[tokio::test]
async fn volumes_outlive_pods() {
    let t = Test::with(real).await;
    let pods = t.pods();
    let claims: Api<PersistentVolumeClaim> = t.api();
    let secrets: Api<Secret> = t.api();
    create(&claims, json!({ "metadata": { "name": "c" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } })).await;
    let volumes = json!({
        "volumes": [{ "name": "d", "persistentVolumeClaim": { "claimName": "c" } }, { "name": "s", "secret": { "secretName": "s" } }, { "name": "m", "emptyDir": { "medium": "Memory" } }],
        "restartPolicy": "Never",
        "containers": [{ "name": "main", "image": "sh:1", "workingDir": "/workspace",
            "volumeMounts": [{ "name": "d", "mountPath": "/workspace/storage" }, { "name": "s", "mountPath": "/etc/keys" }, { "name": "m", "mountPath": "/dev/shm" }],
            "env": [{ "name": "KEY", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } }] }],
    });
    create(
        &pods,
        shell("w", "echo \"$KEY\" > storage/file; cat ../etc/keys/k; touch ../dev/shm/x", volumes.clone()),
    )
    .await;
    // the pod waits for the missing secret
    until(&pods, "w", |p| container(p)["state"]["waiting"]["reason"] == "ContainerCreating").await;
    create(&secrets, json!({ "metadata": { "name": "s" }, "stringData": { "k": "secret" } })).await;
    until(&pods, "w", |p| p.status.as_ref().unwrap().phase.as_deref() == Some("Succeeded")).await;
    assert_eq!(pods.logs("w", &LogParams::default()).await.unwrap(), "secret");
    pods.delete("w", &DeleteParams::default()).await.unwrap();
    gone(&pods, "w").await;
    create(&pods, shell("r", "cat storage/file; exec sleep 100", volumes)).await;
    until(&pods, "r", |p| container(p)["state"]["running"].is_object()).await;
    // a claim in use is not deleted while the pod exists
    claims.delete("c", &DeleteParams::default()).await.unwrap();
    assert!(claims.get("c").await.unwrap().metadata.deletion_timestamp.is_some());
    eventually("the pod has read the file", async || {
        (pods.logs("r", &LogParams::default()).await.unwrap() == "secret\n").then_some(())
    })
    .await;
    pods.delete("r", &DeleteParams::default().grace_period(0)).await.unwrap();
    gone(&claims, "c").await;
    eventually("the volume's folder is removed", async || {
        (std::fs::read_dir(t.dir.path().join("data/volumes")).unwrap().count() == 0).then_some(())
    })
    .await;
    t.stop().await;
}

#[tokio::test]
async fn a_container_waits_for_the_secret_of_its_environment() {
    let t = Test::with(real).await;
    let (pods, secrets): (Api<Pod>, Api<Secret>) = (t.pods(), t.api());
    let from = json!([{ "secretRef": { "name": "s" } }, { "prefix": "P_", "secretRef": { "name": "s" } }]);
    let spec = json!({ "restartPolicy": "Never", "containers": [{ "name": "main", "image": "sh:1", "envFrom": from,
        "env": [{ "name": "OWN", "value": "of the pod" }] }] });
    create(&pods, shell("p", "echo $KEY $P_KEY $OWN", spec)).await;
    until(&pods, "p", |p| container(p)["state"]["waiting"]["reason"] == "CreateContainerConfigError").await;
    create(&secrets, json!({ "metadata": { "name": "s" }, "stringData": { "KEY": "hunter2", "OWN": "no" } }))
        .await;
    until(&pods, "p", |p| p.status.as_ref().unwrap().phase.as_deref() == Some("Succeeded")).await;
    assert_eq!(pods.logs("p", &LogParams::default()).await.unwrap(), "hunter2 hunter2 of the pod\n");
    t.stop().await;
}

/// The numbers of a followed log, until it ends.
async fn followed(pods: &Api<Pod>, name: &str) -> Vec<u32> {
    let params = LogParams { follow: true, ..LogParams::default() };
    let lines = pods.log_stream(name, &params).await.unwrap().lines();
    lines.map(|line| line.unwrap().parse::<u32>().unwrap()).collect().await
}

#[tokio::test]
async fn a_followed_log_ends_with_its_container() {
    let t = Test::with(real).await;
    let pods = t.pods();
    // the second container begins at once, and its log soon is as long as that of the first
    let script = "[ -e second ] && { seq 201 400; exec sleep 1000; }; touch second; seq 1 100; \
        until [ -e go ]; do sleep 0.05; done; seq 101 200; exit 1";
    for round in 0..10 {
        let name = format!("p{round}");
        create(&pods, shell(&name, script, json!({}))).await;
        until(&pods, &name, is_ready).await;
        let (log, _) = tokio::join!(followed(&pods, &name), async {
            let mut touch = pods.exec(&name, ["touch", "go"], &AttachParams::default()).await.unwrap();
            touch.take_status().unwrap().await
        });
        assert_eq!(log, (1..=200).collect::<Vec<_>>());
    }
    t.stop().await;
}

#[tokio::test]
async fn failures_say_why() {
    let t = Test::with(real).await;
    let pods = t.pods();
    create(&pods, pod("no-image", "nowhere/else:1", json!({}))).await;
    until(&pods, "no-image", |p| container(p)["state"]["waiting"]["reason"] == "ImagePullBackOff").await;
    create(&pods, shell("crash", "echo oops; exit 3", json!({}))).await;
    let p = until(&pods, "crash", |p| container(p)["state"]["waiting"]["reason"] == "CrashLoopBackOff").await;
    assert_eq!(container(&p)["lastState"]["terminated"]["exitCode"], 3);
    assert_eq!(
        pods.logs("crash", &LogParams { previous: true, ..LogParams::default() }).await.unwrap(),
        "oops\n"
    );
    create(&pods, shell("never", "exit 4", json!({ "restartPolicy": "Never" }))).await;
    let p = until(&pods, "never", |p| p.status.as_ref().unwrap().phase.as_deref() == Some("Failed")).await;
    assert_eq!(container(&p)["state"]["terminated"]["exitCode"], 4);
    let dead = json!({ "containers": [{ "name": "main", "image": "sh:1", "startupProbe": { "tcpSocket": { "port": 9 }, "periodSeconds": 1, "failureThreshold": 1 } }] });
    create(&pods, shell("dead", "exec sleep 100", dead)).await;
    until(&pods, "dead", |p| container(p)["restartCount"].as_i64() >= Some(1)).await;
    t.stop().await;
}

#[tokio::test]
async fn a_process_is_killed_after_its_grace_period() {
    let t = Test::with(real).await;
    let pods = t.pods();
    create(
        &pods,
        shell(
            "p",
            "trap '' TERM; echo on; while :; do sleep 0.1; done",
            json!({ "terminationGracePeriodSeconds": 1 }),
        ),
    )
    .await;
    eventually("the process ignores the signal", async || {
        (pods.logs("p", &LogParams::default()).await.ok()? == "on\n").then_some(())
    })
    .await;
    let begun = Instant::now();
    pods.delete("p", &DeleteParams::default()).await.unwrap();
    let going = pods.get("p").await.unwrap();
    assert_eq!(going.metadata.deletion_grace_period_seconds, Some(1));
    gone(&pods, "p").await;
    assert!((900..4000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    t.stop().await;
}

#[tokio::test]
async fn pods_of_a_failed_node_are_evicted() {
    let t = Test::with(real).await;
    let pods = t.pods();
    create(&pods, shell("p", "exec sleep 100", json!({}))).await;
    let patient =
        json!({ "tolerations": [{ "key": "node.kubernetes.io/unreachable", "operator": "Exists" }] });
    create(&pods, shell("patient", "exec sleep 100", patient)).await;
    until(&pods, "p", is_ready).await;
    until(&pods, "patient", is_ready).await;
    assert_eq!(t.send("POST", "/devcluster/nodes/n1/fail", &[], String::new()).await.0, 200);
    gone(&pods, "p").await;
    until(&pods, "patient", |p| !is_ready(p)).await;
    let nodes: Api<Node> = Api::all(t.client.clone());
    let node = nodes.get("n1").await.unwrap();
    assert!(node.spec.unwrap().taints.unwrap().iter().any(|t| t.key == "node.kubernetes.io/unreachable"));
    t.cluster().recover_node("n1");
    until(&pods, "patient", is_ready).await;
    let p = pods.get("patient").await.unwrap();
    assert_eq!(container(&p)["restartCount"], 1);
    create(&pods, shell("after", "exec sleep 100", json!({}))).await;
    until(&pods, "after", is_ready).await;
    t.stop().await;
}

/// A static volume is bound to the claim that names it, and stays when the claim is deleted.
#[tokio::test]
async fn a_static_volume_is_bound_by_name_and_released() {
    let t = Test::fake().await;
    let volumes: Api<PersistentVolume> = Api::all(t.client.clone());
    let claims: Api<PersistentVolumeClaim> = t.api();
    let phase = |v: &PersistentVolume| v.status.clone().unwrap_or_default().phase.unwrap_or_default();
    let volume = json!({
        "metadata": { "name": "v" },
        "spec": { "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": { "path": "/nowhere" }, "claimRef": { "namespace": "default", "name": "c" } },
    });
    create(&volumes, volume).await;
    until(&volumes, "v", |v| phase(v) == "Available").await;
    let claim = |name: &str| json!({ "metadata": { "name": name }, "spec": { "accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": "v", "resources": { "requests": { "storage": "1Gi" } } } });
    create(&claims, claim("other")).await;
    create(&claims, claim("c")).await;
    let bound = |c: &PersistentVolumeClaim| c.status.clone().unwrap().phase.as_deref() == Some("Bound");
    until(&claims, "c", bound).await;
    assert!(!bound(&claims.get("other").await.unwrap()), "the volume waits for another claim");
    volumes.delete("v", &DeleteParams::default()).await.unwrap();
    assert!(volumes.get("v").await.unwrap().metadata.deletion_timestamp.is_some(), "bound, it stays");
    claims.delete("c", &DeleteParams::default()).await.unwrap();
    gone(&volumes, "v").await;
    t.stop().await;
}
