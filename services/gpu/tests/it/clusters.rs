//! Two clusters. One is away for a while; the other is not affected.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crds::ClusterConfig;
use ids::{InstanceId, UnitId};
use serde_json::{Value, json};
use testkit::eventually;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{
    harness::{Fixture, OTHER_CLUSTER, Setup, start_cluster},
    operator::Operator,
};

/// More than the queue reconciles at a time, of all clusters together.
const STARTS: usize = 70;
/// What a start or a stop may take while the other cluster is silent: less than a call to that cluster is given.
const UNDISTURBED: Duration = Duration::from_secs(5);

/// The way to a cluster. While it is silent, it accepts connections and requests and does not answer.
struct Line {
    silent: watch::Sender<bool>,
    kubeconfig: PathBuf,
}

impl Line {
    async fn to(cluster: &devcluster::Cluster, folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let target = cluster.url.trim_start_matches("http://").to_owned();
        let text = std::fs::read_to_string(cluster.kubeconfig_path()).unwrap();
        assert!(text.contains(&target));
        let kubeconfig = folder.join("kubeconfig-of-the-line");
        std::fs::write(&kubeconfig, text.replace(&target, &address)).unwrap();
        let (silent, silence) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (target, silence) = (target.clone(), silence.clone());
                tokio::spawn(async move {
                    let far = TcpStream::connect(target).await?;
                    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                    tokio::try_join!(
                        carry(near_in, far_out, silence.clone()),
                        carry(far_in, near_out, silence)
                    )
                });
            }
        });
        Self { silent, kubeconfig }
    }

    fn be_silent(&self, silent: bool) {
        self.silent.send_replace(silent);
    }
}

/// Carries bytes from one side to the other, except while the line is silent.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut silence: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        let _ = silence.wait_for(|silent| !*silent).await;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

async fn instance(fixture: &Fixture, id: InstanceId) -> Value {
    fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200).body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_goes_away_leaves_the_other_untouched() {
    let mut fixture = Fixture::with(Setup { units: 3, workers: false, ..Setup::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let (other, kube) = start_cluster(folder.path()).await;
    let operator = Operator::new(kube.clone());
    for _ in 0..=STARTS {
        let unit = UnitId::new();
        operator.make_unit(&unit.k8s_name()).await;
        fixture.neighbours.add_unit_in_other(unit);
    }
    let line = Line::to(&other, folder.path()).await;
    let config = ClusterConfig { kubeconfig: Some(line.kubeconfig.clone()), context: None };
    fixture.config.clusters.insert(OTHER_CLUSTER.to_owned(), config);
    let replica = fixture.replica().await;
    fixture.base.clone_from(&replica.base);

    let mut in_other = Fixture::order();
    in_other["datacenter"] = json!(fixture.neighbours.other_datacenter);
    let stays = fixture.running().await;
    let far = fixture.ordered(in_other.clone()).await;
    let far_unit = Fixture::unit_in(&kube, far).await;
    operator.ready(&far_unit).await;
    let before = fixture.in_state(far, "running").await.body;

    line.be_silent(true);
    let mut waiting = Vec::new();
    for _ in 0..STARTS {
        waiting.push(fixture.ordered(in_other.clone()).await);
    }
    // in the first cluster: start, run, stop, as ever
    let begun = Instant::now();
    let near = fixture.running().await;
    assert!(begun.elapsed() < UNDISTURBED, "the start took {:?}", begun.elapsed());
    let begun = Instant::now();
    let near_unit = fixture.unit_of(near).await;
    let stop = fixture.act(near, "stop").await;
    fixture.emptied(&near_unit).await;
    fixture.operator.ended(&near_unit, 160).await;
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    assert!(begun.elapsed() < UNDISTURBED, "the stop took {:?}", begun.elapsed());
    assert_eq!(instance(&fixture, stays).await["state"], "running");

    // in the second: the last known state, and why a start waits
    let begun = Instant::now();
    assert_eq!(instance(&fixture, far).await, before);
    let log = fixture.member().get(&format!("/v1/instances/{far}/log")).await;
    assert_eq!(log.status, 503, "{log:?}");
    assert!(begun.elapsed() < Duration::from_secs(8), "the answers took {:?}", begun.elapsed());
    for id in [waiting[0], waiting[STARTS - 1]] {
        eventually("the start says what it waits for", async || {
            let seen = instance(&fixture, id).await;
            (seen["state"] == "starting" && seen["reason"] == "cluster_unreachable").then_some(())
        })
        .await;
    }
    eventually("the service is ready", async || {
        (reqwest::get(format!("{}/readyz", fixture.base)).await.unwrap().status() == 200).then_some(())
    })
    .await;

    line.be_silent(false);
    for id in [waiting[0], waiting[STARTS - 1]] {
        operator.ready(&Fixture::unit_in(&kube, id).await).await;
        fixture.in_state(id, "running").await;
    }
    assert_eq!(instance(&fixture, far).await, before, "it runs on as the same run");
    fixture.act(far, "stop").await;
    eventually("the unit is emptied", async || {
        operator.unit(&far_unit).await.spec.instance.is_none().then_some(())
    })
    .await;
    operator.ended(&far_unit, 160).await;
    fixture.in_state(far, "stopped").await;
    assert_eq!(fixture.usage(far).await["total_seconds"], 60);
    assert_eq!(instance(&fixture, stays).await["state"], "running");
    replica.process.shutdown.begin();
}
