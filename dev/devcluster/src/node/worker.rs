//! One pod on a real node, from its binding to its end: prepare, start, probe, restart, terminate.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use objects::json::text;
use objects::pod::{container, container_status, is_over};
use objects::store::Object;
use objects::time::{now, seconds};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::logs::Logs;
use super::probe::{self, Finding};
use super::volumes::Blocked;
use super::{admit, clean_up, image, pull, remove, unsent};
use crate::faults::Part;
use crate::hub::Hub;
use crate::report::{record, set_ready};
use crate::runtime::alive::Alive;
use crate::runtime::process::{Launch, Launched, signal_group};
use crate::runtime::{Sandbox, reaper};

/// Why a worker stops waiting.
enum Wake {
    /// The pod was deleted: end within its grace period.
    Delete,
    /// The object is gone: end at once.
    Gone,
    /// The cluster stops; the object stays.
    Stop,
    /// The node has failed.
    Failed,
}

/// How a container ended.
struct Ended {
    code: i32,
    reason: &'static str,
    message: String,
    started: String,
}

struct Worker<'a> {
    hub: &'a Arc<Hub>,
    feed: watch::Receiver<Arc<Object>>,
    failures: watch::Receiver<std::collections::HashSet<String>>,
    pod: Arc<Object>,
    node: String,
    home: PathBuf,
    ip: String,
    name: String,
    image: String,
}

/// Runs a pod. Returns whether it stopped only because its node failed.
pub(super) async fn run(hub: &Arc<Hub>, feed: watch::Receiver<Arc<Object>>) -> bool {
    let pod = feed.borrow().clone();
    let container = container(&pod.value);
    let ip = match pod.value["status"]["podIP"].as_str() {
        Some(address) => address.to_owned(),
        None => hub.runtime.addresses.allocate(),
    };
    hub.runtime.addresses.keep(&ip);
    let mut worker = Worker {
        hub,
        feed,
        failures: hub.runtime.failures(),
        node: text(&pod.value["spec"]["nodeName"]).to_owned(),
        home: hub.runtime.pod_dir(pod.uid()),
        ip,
        name: text(&container["name"]).to_owned(),
        image: text(&container["image"]).to_owned(),
        pod,
    };
    let wake = Box::pin(worker.live()).await;
    worker.hub.runtime.set_running(worker.pod.uid(), None);
    if matches!(wake, Some(Wake::Stop | Wake::Failed)) {
        Alive::ended(&worker.home);
    }
    let again = matches!(wake, Some(Wake::Failed));
    match wake {
        Some(Wake::Delete) => {
            let kubelet = Part::Kubelet(worker.node.clone());
            hub.stop.run_until_cancelled(hub.faults.until(&kubelet, true)).await;
            remove(hub, &worker.pod);
            clean_up(hub, &worker.pod);
            hub.runtime.addresses.release(&worker.ip);
        }
        Some(Wake::Gone) => {
            clean_up(hub, &worker.pod);
            hub.runtime.addresses.release(&worker.ip);
        }
        Some(Wake::Stop | Wake::Failed) | None => {}
    }
    again
}

impl Worker<'_> {
    /// Completes when the worker has to stop.
    async fn wake(&mut self) -> Wake {
        loop {
            if self.hub.stop.is_cancelled() {
                return Wake::Stop;
            }
            let latest = self.feed.borrow_and_update().clone();
            if latest.terminating() {
                self.pod = latest;
                return Wake::Delete;
            }
            if self.failures.borrow_and_update().contains(&self.node) {
                return Wake::Failed;
            }
            tokio::select! {
                () = self.hub.stop.cancelled() => return Wake::Stop,
                changed = self.feed.changed() => if changed.is_err() {
                    return if self.hub.stop.is_cancelled() { Wake::Stop } else { Wake::Gone };
                },
                changed = self.failures.changed() => if changed.is_err() { return Wake::Stop },
            }
        }
    }

    async fn pause(&mut self, time: Duration) -> Option<Wake> {
        tokio::select! {
            wake = self.wake() => Some(wake),
            () = sleep(time) => None,
        }
    }

    fn write(&self, change: impl FnOnce(&mut Value)) {
        unsent::write(self.hub, &self.node, &self.pod, change);
    }

    fn event(&self, kind: &str, reason: &str, message: &str) {
        if self.hub.faults.kubelet_reaches(&self.node) {
            record(self.hub, &self.pod, kind, reason, message, "kubelet");
        }
    }

    /// Writes the state of the container. The restart count and last state stay unless `change` sets them.
    fn state(&self, phase: &str, state: &Value, started: bool, ready: bool, change: impl FnOnce(&mut Value)) {
        let (name, image, ip) = (self.name.clone(), self.image.clone(), self.ip.clone());
        let completed = phase == "Succeeded";
        self.write(|s| {
            s["phase"] = phase.into();
            if s["startTime"].is_null() {
                s["startTime"] = now().into();
            }
            s["hostIP"] = "127.0.0.1".into();
            s["podIP"] = ip.clone().into();
            s["podIPs"] = json!([{ "ip": ip }]);
            let was = s["containerStatuses"][0].clone();
            let mut c = json!({
                "name": name, "image": image, "imageID": image, "restartCount": was["restartCount"].as_i64().unwrap_or(0),
                "ready": ready, "started": started, "state": state,
                "lastState": if was["lastState"].is_object() { was["lastState"].clone() } else { json!({}) },
            });
            change(&mut c);
            s["containerStatuses"] = json!([c]);
            set_ready(s, &name, ready, completed);
        });
    }

    async fn live(&mut self) -> Option<Wake> {
        if let Some(before) = self.before() {
            return before;
        }
        let mut crashes: u32 = 0;
        loop {
            let (launch, sandbox) = match self.prepare().await {
                Ok(ready) => ready,
                Err(wake) => return Some(wake),
            };
            let started = now();
            let rotated = (
                self.hub.runtime.log_file(self.pod.uid(), false),
                self.hub.runtime.log_file(self.pod.uid(), true),
            );
            // the first start has no previous log
            let _ = std::fs::rename(&rotated.0, &rotated.1);
            let begun = Instant::now();
            let ended = match launch {
                None => {
                    // an image without a process runs until the pod is deleted
                    self.event("Normal", "Started", "Started container");
                    self.state(
                        "Running",
                        &json!({ "running": { "startedAt": started } }),
                        true,
                        true,
                        |_| {},
                    );
                    let wake = self.wake().await;
                    if matches!(wake, Wake::Delete) {
                        self.finished(&Ended {
                            code: 0,
                            reason: "Completed",
                            message: String::new(),
                            started,
                        });
                    }
                    return Some(wake);
                }
                Some(launch) => match self.hub.runtime.spawner.launch(launch).await {
                    Err(error) => {
                        self.event("Warning", "Failed", &format!("Error: {error:#}"));
                        Ended { code: 128, reason: "StartError", message: format!("{error:#}"), started }
                    }
                    Ok(launched) => match Box::pin(self.supervise(launched, sandbox, started)).await {
                        Ok(ended) => ended,
                        Err(wake) => return Some(wake),
                    },
                },
            };
            let policy = self.pod.value["spec"]["restartPolicy"].as_str().unwrap_or("Always").to_owned();
            let again = policy == "Always" || policy == "OnFailure" && ended.code != 0;
            if !again {
                self.finished(&ended);
                return Some(self.wake().await);
            }
            if begun.elapsed() > Duration::from_secs(600) {
                crashes = 0;
            }
            if let Some(wake) = self.back_off(&ended, crashes).await {
                return Some(wake);
            }
            crashes += 1;
        }
    }

    /// Handles the state from before a restart of the cluster or of the node: ended pods stay ended, running ones are
    /// restarted. Their containers ended when they last ran for certain, not now.
    fn before(&mut self) -> Option<Option<Wake>> {
        let container = container_status(&self.pod.value);
        if is_over(&self.pod.value) {
            return Some(self.pod.terminating().then_some(Wake::Delete));
        }
        let running = container["state"]["running"].clone();
        let started = running["startedAt"].as_str().and_then(|time| time.parse().ok());
        let last = started.map(|started| {
            let time = seconds(self.hub.runtime.alive.last(&self.home, started));
            json!({ "terminated": { "exitCode": 137, "reason": "Error", "message": "the node restarted", "startedAt": running["startedAt"], "finishedAt": time } })
        });
        if self.pod.terminating() {
            if let Some(last) = last {
                self.state("Failed", &last, false, false, |_| {});
            }
            return Some(Some(Wake::Delete));
        }
        if let Some(last) = last {
            self.state(
                "Running",
                &json!({ "waiting": { "reason": "ContainerCreating" } }),
                false,
                false,
                |c| {
                    c["lastState"] = last;
                    c["restartCount"] = (c["restartCount"].as_i64().unwrap_or(0) + 1).into();
                },
            );
        }
        None
    }

    async fn try_to_prepare(&self) -> Result<(Option<Launch>, Sandbox), Blocked> {
        admit::runtime(self.hub, &self.pod)?;
        admit::devices(self.hub, &self.pod)?;
        pull::pull(self.hub, &self.pod).await?;
        image::prepare(self.hub, &self.pod, &self.ip)
    }

    /// Waits until runtime, devices, image, volumes and environment are available.
    async fn prepare(&mut self) -> Result<(Option<Launch>, Sandbox), Wake> {
        let mut pause = Duration::from_millis(100);
        let mut pull_pause = Duration::from_millis(self.hub.config.pull_backoff_ms);
        let longest = pull_pause * 30;
        let mut shown: Option<Blocked> = None;
        loop {
            let blocked = match self.try_to_prepare().await {
                Ok(ready) => return Ok(ready),
                Err(blocked) => blocked,
            };
            let pulling = blocked.reason == pull::ERR_IMAGE_PULL;
            if shown.as_ref() != Some(&blocked) {
                let image = &self.image;
                let (reason, message) = match pulling {
                    true => ("Failed", format!("Failed to pull image \"{image}\": {}", blocked.message)),
                    false if blocked.message.starts_with("Failed to create pod sandbox") => {
                        ("FailedCreatePodSandBox", blocked.message.clone())
                    }
                    false => ("FailedMount", blocked.message.clone()),
                };
                self.event("Warning", reason, &message);
                self.waits(&blocked);
            }
            if pulling {
                self.back_off_pull(&blocked, pull_pause).await?;
                pull_pause = (pull_pause * 2).min(longest);
                shown = None;
                continue;
            }
            shown = Some(blocked);
            if let Some(wake) = self.pause(pause).await {
                return Err(wake);
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    /// Writes why the container does not start.
    fn waits(&self, blocked: &Blocked) {
        let waiting = json!({ "waiting": { "reason": blocked.reason, "message": blocked.message } });
        self.state("Pending", &waiting, false, false, |_| {});
    }

    /// Shows the error of a pull for a moment, then that the next pull waits.
    async fn back_off_pull(&mut self, error: &Blocked, pause: Duration) -> Result<(), Wake> {
        let moment = pause / 5;
        if let Some(wake) = self.pause(moment).await {
            return Err(wake);
        }
        let what = format!("Back-off pulling image \"{}\"", self.image);
        self.event("Normal", "BackOff", &what);
        let message = format!("{what}: {}: {}", pull::ERR_IMAGE_PULL, error.message);
        self.waits(&Blocked { reason: "ImagePullBackOff", message });
        match self.pause(pause - moment).await {
            Some(wake) => Err(wake),
            None => Ok(()),
        }
    }

    /// Follows a running process until it ends or the pod has to.
    async fn supervise(
        &mut self,
        mut launched: Launched,
        sandbox: Sandbox,
        started: String,
    ) -> Result<Ended, Wake> {
        let pid = launched.pid;
        reaper::record(&self.home, pid);
        self.hub.runtime.set_running(self.pod.uid(), Some(sandbox.clone()));
        let logs = Logs::keep(self.hub, self.pod.uid(), &mut launched);
        let container = container(&self.pod.value).clone();
        let (tell, mut findings) = mpsc::channel(8);
        let probes = tokio::spawn(probe::run(
            self.hub.runtime.spawner.clone(),
            container.clone(),
            self.ip.clone(),
            sandbox,
            tell,
        ));
        let instant = !container["startupProbe"].is_object() && !container["readinessProbe"].is_object();
        self.state("Running", &json!({ "running": { "startedAt": started } }), instant, instant, |_| {});
        self.event("Normal", "Started", "Started container");
        let mut why = String::new();
        let status = loop {
            tokio::select! {
                status = launched.child.wait() => break status,
                Some(finding) = findings.recv() => match finding {
                    Finding::Started if !instant => self.write(|s| s["containerStatuses"][0]["started"] = true.into()),
                    Finding::Ready(ready) if !(instant && ready) => {
                        let name = self.name.clone();
                        self.write(|s| {
                            s["containerStatuses"][0]["ready"] = ready.into();
                            set_ready(s, &name, ready, false);
                        });
                    }
                    Finding::Started | Finding::Ready(_) => {}
                    Finding::Failing(what, message) => self.event("Warning", "Unhealthy", &format!("{what}: {message}")),
                    Finding::Dead(message) => {
                        self.event("Normal", "Killing", &format!("Container {} failed: {message}, will be restarted", self.name));
                        why = message;
                        let grace = self.grace();
                        break self.end(&mut launched, grace).await;
                    }
                },
                wake = self.wake() => {
                    probes.abort();
                    let grace = match wake {
                        Wake::Delete => {
                            self.event("Normal", "Killing", &format!("Stopping container {}", self.name));
                            self.grace()
                        }
                        Wake::Stop => self.grace().min(Duration::from_secs(5)),
                        Wake::Gone | Wake::Failed => Duration::ZERO,
                    };
                    let status = self.end(&mut launched, grace).await;
                    signal_group(pid, Signal::SIGKILL);
                    reaper::forget(&self.home);
                    logs.finish().await;
                    if matches!(wake, Wake::Delete) {
                        self.finished(&ended(&status, started, String::new()));
                    }
                    return Err(wake);
                }
            }
        };
        probes.abort();
        // the rest of the process group ends with its leader
        signal_group(pid, Signal::SIGKILL);
        reaper::forget(&self.home);
        self.hub.runtime.set_running(self.pod.uid(), None);
        logs.finish().await;
        Ok(ended(&status, started, why))
    }

    fn grace(&self) -> Duration {
        let pod = self.feed.borrow().clone();
        let given = pod.value["metadata"]["deletionGracePeriodSeconds"].as_i64();
        let own = pod.value["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        Duration::from_secs(given.unwrap_or(own).max(0).unsigned_abs())
    }

    /// Sends SIGTERM to the process group, and SIGKILL after the grace period.
    async fn end(&mut self, launched: &mut Launched, grace: Duration) -> std::io::Result<ExitStatus> {
        if !grace.is_zero() {
            signal_group(launched.pid, Signal::SIGTERM);
        }
        let mut deadline = Instant::now() + grace;
        let mut open = true;
        loop {
            tokio::select! {
                status = launched.child.wait() => return status,
                () = sleep_until(deadline) => break,
                changed = self.feed.changed(), if open => match changed {
                    // a second deletion may shorten the grace period
                    Ok(()) => {
                        let latest = self.feed.borrow_and_update().clone();
                        if let Some(s) = latest.value["metadata"]["deletionGracePeriodSeconds"].as_i64() {
                            deadline = deadline.min(Instant::now() + Duration::from_secs(s.max(0).unsigned_abs()));
                        }
                    }
                    Err(_) => {
                        open = false;
                        if !self.hub.stop.is_cancelled() {
                            break;
                        }
                    }
                },
            }
        }
        signal_group(launched.pid, Signal::SIGKILL);
        launched.child.wait().await
    }

    fn terminated(ended: &Ended) -> Value {
        let mut v = json!({ "exitCode": ended.code, "reason": ended.reason, "startedAt": ended.started, "finishedAt": now() });
        if !ended.message.is_empty() {
            v["message"] = ended.message.clone().into();
        }
        json!({ "terminated": v })
    }

    /// Writes the final state of the pod.
    fn finished(&self, ended: &Ended) {
        let phase = if ended.code == 0 { "Succeeded" } else { "Failed" };
        self.state(phase, &Self::terminated(ended), false, false, |_| {});
    }

    /// Writes the end of the container, waits for the crash-loop backoff, and counts the restart.
    async fn back_off(&mut self, ended: &Ended, crashes: u32) -> Option<Wake> {
        let last = Self::terminated(ended);
        self.state("Running", &last, false, false, |_| {});
        if crashes > 0 {
            let pause =
                Duration::from_secs(1 << crashes.saturating_sub(1).min(8)).min(Duration::from_secs(300));
            let message = format!(
                "back-off {}s restarting failed container={} pod={}",
                pause.as_secs(),
                self.name,
                self.pod.name()
            );
            self.event("Warning", "BackOff", &message);
            self.state(
                "Running",
                &json!({ "waiting": { "reason": "CrashLoopBackOff", "message": message } }),
                false,
                false,
                |c| c["lastState"] = last.clone(),
            );
            if let Some(wake) = self.pause(pause).await {
                return Some(wake);
            }
        }
        self.state("Running", &json!({ "waiting": { "reason": "ContainerCreating" } }), false, false, |c| {
            c["lastState"] = last;
            c["restartCount"] = (c["restartCount"].as_i64().unwrap_or(0) + 1).into();
        });
        None
    }
}

fn ended(status: &std::io::Result<ExitStatus>, started: String, message: String) -> Ended {
    let code = match status {
        Ok(s) => s.code().unwrap_or_else(|| 128 + s.signal().unwrap_or(0)),
        Err(_) => 255,
    };
    Ended { code, reason: if code == 0 { "Completed" } else { "Error" }, message, started }
}
