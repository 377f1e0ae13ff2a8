//! Parts of the cluster that a case stops for a while. On a given cluster, the shell command `TEST_CONTROL_CLUSTER` does
//! it (docs/REAL-CLUSTER.md).

use std::time::Duration;

use crate::lab::{Lab, REAL_NODE};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    ApiServer,
    Scheduler,
    Controllers,
    /// Of the node that runs processes.
    Kubelet,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::ApiServer => "api-server",
            Self::Scheduler => "scheduler",
            Self::Controllers => "controllers",
            Self::Kubelet => "kubelet",
        }
    }

    fn of_devcluster(self) -> devcluster::Part {
        match self {
            Self::ApiServer => devcluster::Part::ApiServer,
            Self::Scheduler => devcluster::Part::Scheduler,
            Self::Controllers => devcluster::Part::Controllers,
            Self::Kubelet => devcluster::Part::Kubelet(REAL_NODE.to_owned()),
        }
    }
}

/// A part that is stopped. A given cluster gets it back also if the case fails.
#[must_use]
pub(crate) struct Outage<'a> {
    lab: &'a Lab,
    part: Part,
    over: bool,
}

/// The command of a given cluster.
fn control() -> Option<String> {
    std::env::var("TEST_CONTROL_CLUSTER").ok()
}

fn run(action: &str, part: Part) {
    let command = format!("{} {action} {}", control().unwrap(), part.name());
    let ended = std::process::Command::new("sh").args(["-c", &command]).status().unwrap();
    assert!(ended.success(), "{command}: {ended}");
}

impl Lab {
    /// Whether parts can be stopped. Otherwise reports that the case is skipped.
    pub(crate) fn can_stop_parts(&self) -> bool {
        let can = self.is_dev() || control().is_some();
        if !can {
            eprintln!("skipped: parts of this cluster cannot be stopped (TEST_CONTROL_CLUSTER)");
        }
        can
    }

    /// Stops a part, as `kill -9` does.
    pub(crate) async fn stop(&self, part: Part) -> Outage<'_> {
        match &self.cluster {
            Some(cluster) => cluster.stop_part(&part.of_devcluster()),
            None => tokio::task::spawn_blocking(move || run("stop", part)).await.unwrap(),
        }
        Outage { lab: self, part, over: false }
    }
}

impl Outage<'_> {
    /// Starts the part again. Returns when it serves.
    pub(crate) async fn end(mut self) {
        self.over = true;
        let part = self.part;
        match &self.lab.cluster {
            Some(cluster) => cluster.start_part(&part.of_devcluster()).await,
            None => tokio::task::spawn_blocking(move || run("start", part)).await.unwrap(),
        }
        testkit::eventually("the API server answers", async || {
            self.lab.client.apiserver_version().await.ok()
        })
        .await;
    }

    /// Ends after a time: the length of the outage is what the case is about. `real`: on a given cluster.
    pub(crate) async fn lasts(self, dev: Duration, real: Duration) {
        tokio::time::sleep(if self.lab.is_dev() { dev } else { real }).await;
        self.end().await;
    }
}

impl Drop for Outage<'_> {
    fn drop(&mut self) {
        if !self.over && !self.lab.is_dev() {
            run("start", self.part);
        }
    }
}
