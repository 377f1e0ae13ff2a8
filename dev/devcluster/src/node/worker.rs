//! One pod on a real node, from its binding to its end: prepare, start, probe, restart, terminate.

use super::probe::{self, Finding};
use super::process::{Launch, Launched, signal_group};
use super::volumes::{self, Blocked};
use super::{Place, cleanup, reaper, remove, status};
use crate::config::ImageConfig;
use crate::controllers::events;
use crate::hub::{Hub, now};
use crate::store::Object;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// Why the worker stops waiting.
enum Wake {
    /// The pod shall end within its grace period.
    Delete,
    /// The object is gone: end at once.
    Gone,
    /// The cluster stops; the object stays.
    Stop,
    /// The node died.
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

/// Lives a pod's life; true when it ended only because its node did.
pub(super) async fn run(hub: &Arc<Hub>, feed: watch::Receiver<Arc<Object>>) -> bool {
    let pod = feed.borrow().clone();
    let container = &pod.value["spec"]["containers"][0];
    let ip = hub.nodes.address(pod.value["status"]["podIP"].as_str());
    let mut worker = Worker {
        hub,
        feed,
        failures: hub.nodes.failures(),
        node: pod.value["spec"]["nodeName"].as_str().unwrap_or("").to_owned(),
        home: hub.nodes.pod_dir(pod.uid()),
        ip,
        name: container["name"].as_str().unwrap_or("").to_owned(),
        image: container["image"].as_str().unwrap_or("").to_owned(),
        pod,
    };
    let wake = Box::pin(worker.live()).await;
    worker.hub.nodes.set_running(worker.pod.uid(), None);
    let again = matches!(wake, Some(Wake::Failed));
    match wake {
        Some(Wake::Delete) => {
            remove(hub, &worker.pod);
            cleanup(hub, &worker.pod);
            hub.nodes.release_address(&worker.ip);
        }
        Some(Wake::Gone) => {
            cleanup(hub, &worker.pod);
            hub.nodes.release_address(&worker.ip);
        }
        Some(Wake::Stop | Wake::Failed) | None => {}
    }
    again
}

impl Worker<'_> {
    /// The next reason to stop; completes only for one.
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
        match status::update(self.hub, &self.pod, "kubelet", change) {
            Ok(_) => {}
            Err(e) if e.code == 404 => {}
            Err(error) => tracing::error!(%error, pod = self.pod.name(), "status not written"),
        }
    }

    fn event(&self, kind: &str, reason: &str, message: &str) {
        events::record(self.hub, &self.pod, kind, reason, message, "kubelet");
    }

    /// Writes the container's state; keeps count and last state where the change does not set them.
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
            status::set_ready(s, &name, ready, completed);
        });
    }

    async fn live(&mut self) -> Option<Wake> {
        if let Some(before) = self.before() {
            return before;
        }
        let mut crashes: u32 = 0;
        loop {
            let (launch, place) = match self.prepare().await {
                Ok(ready) => ready,
                Err(wake) => return Some(wake),
            };
            let started = now();
            let rotated = (
                self.hub.nodes.log_file(self.pod.uid(), false),
                self.hub.nodes.log_file(self.pod.uid(), true),
            );
            // the first start has no log to keep
            let _ = std::fs::rename(&rotated.0, &rotated.1);
            let begun = Instant::now();
            let ended = match launch {
                None => {
                    // an image without a process: runs until it is told to stop
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
                Some(launch) => match self.hub.nodes.spawner.launch(launch).await {
                    Err(error) => {
                        self.event("Warning", "Failed", &format!("Error: {error:#}"));
                        Ended { code: 128, reason: "StartError", message: format!("{error:#}"), started }
                    }
                    Ok(launched) => match Box::pin(self.supervise(launched, place, started)).await {
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

    /// What an earlier life of this process left: pods that had ended stay ended, pods that ran are restarted.
    fn before(&mut self) -> Option<Option<Wake>> {
        let container = &self.pod.value["status"]["containerStatuses"][0];
        if matches!(self.pod.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
            return Some(self.pod.terminating().then_some(Wake::Delete));
        }
        if self.pod.terminating() {
            return Some(Some(Wake::Delete));
        }
        let running = container["state"]["running"].clone();
        if running.is_object() {
            let time = now();
            let last = json!({ "terminated": { "exitCode": 137, "reason": "Error", "message": "the node restarted", "startedAt": running["startedAt"], "finishedAt": time } });
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

    /// Image, folders and environment; waits until they are there.
    async fn prepare(&mut self) -> Result<(Option<Launch>, Place), Wake> {
        let mut pause = Duration::from_millis(100);
        let mut shown: Option<Blocked> = None;
        let mut pulls = 0;
        loop {
            let blocked = match self.build() {
                Ok(ready) => return Ok(ready),
                Err(blocked) => blocked,
            };
            let pulling = blocked.reason == "ErrImagePull";
            let mut show = blocked.clone();
            if pulling && pulls > 0 {
                show = Blocked {
                    reason: "ImagePullBackOff",
                    message: format!("Back-off pulling image \"{}\": {}", self.image, blocked.message),
                };
            }
            if shown.as_ref() != Some(&show) {
                let reason = if pulling { "Failed" } else { "FailedMount" };
                self.event("Warning", reason, &show.message);
                self.state(
                    "Pending",
                    &json!({ "waiting": { "reason": show.reason, "message": show.message } }),
                    false,
                    false,
                    |_| {},
                );
                shown = Some(show);
            }
            pulls += 1;
            if let Some(wake) = self.pause(pause).await {
                return Err(wake);
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    fn image(&self) -> Result<ImageConfig, Blocked> {
        if let Some(found) = self.hub.config.images.iter().find(|i| i.matches(&self.image)) {
            return Ok(found.clone());
        }
        let last = self.image.rsplit('/').next().unwrap_or("");
        if last.split([':', '@']).next() == Some("pause") {
            return Ok(ImageConfig::new("pause", Vec::<String>::new()));
        }
        let message = format!(
            "failed to pull and unpack image \"{}\": not in the image table of this cluster",
            self.image
        );
        Err(Blocked { reason: "ErrImagePull", message })
    }

    fn build(&self) -> Result<(Option<Launch>, Place), Blocked> {
        let image = self.image()?;
        let container = &self.pod.value["spec"]["containers"][0];
        let rootfs = volumes::mount(self.hub, &self.pod, &self.home)?;
        let mut base: BTreeMap<String, String> = BTreeMap::from([
            (
                "PATH".to_owned(),
                std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into()),
            ),
            ("HOME".to_owned(), rootfs.display().to_string()),
            ("HOSTNAME".to_owned(), self.pod.name().to_owned()),
            ("POD_IP".to_owned(), self.ip.clone()),
            ("ATELIER_ROOTFS".to_owned(), rootfs.display().to_string()),
        ]);
        base.extend(image.env.clone());
        let env = volumes::environment(self.hub, &self.pod, &self.ip, &base)?;
        let list = |v: &Value| -> Option<Vec<String>> {
            Some(v.as_array()?.iter().filter_map(Value::as_str).map(|s| volumes::expand(s, &env)).collect())
        };
        let command = list(&container["command"]).filter(|c| !c.is_empty());
        let args = list(&container["args"]).filter(|a| !a.is_empty());
        let mut argv = match (&command, &args) {
            (Some(command), _) => command.clone(),
            (None, _) => image.entrypoint.clone(),
        };
        match (args, command) {
            (Some(args), _) => argv.extend(args),
            (None, None) => argv.extend(image.cmd.clone()),
            (None, Some(_)) => {}
        }
        let dir = container["workingDir"].as_str().or(image.working_dir.as_deref()).unwrap_or("/");
        let cwd = rootfs.join(dir.trim_start_matches('/'));
        let fail = |e: std::io::Error| Blocked {
            reason: "CreateContainerError",
            message: format!("{}: {e}", cwd.display()),
        };
        std::fs::create_dir_all(&cwd).map_err(fail)?;
        let env: Vec<(String, String)> = env.into_iter().collect();
        let place = Place { cwd: cwd.clone(), env: env.clone() };
        let launch = (!argv.is_empty()).then_some(Launch { argv, env, cwd, stdin: false, tty: false });
        Ok((launch, place))
    }

    /// Watches over a running process until it ends or the pod has to.
    async fn supervise(
        &mut self,
        mut launched: Launched,
        place: Place,
        started: String,
    ) -> Result<Ended, Wake> {
        let pid = launched.pid;
        reaper::record(&self.home, pid);
        self.hub.nodes.set_running(self.pod.uid(), Some(place.clone()));
        let logs = self.keep_logs(&mut launched);
        let container = self.pod.value["spec"]["containers"][0].clone();
        let (tell, mut findings) = mpsc::channel(8);
        let probes = tokio::spawn(probe::run(
            self.hub.nodes.spawner.clone(),
            container.clone(),
            self.ip.clone(),
            place,
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
                            status::set_ready(s, &name, ready, false);
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
        // what the leader left behind of its group ends with it
        signal_group(pid, Signal::SIGKILL);
        reaper::forget(&self.home);
        self.hub.nodes.set_running(self.pod.uid(), None);
        logs.finish().await;
        Ok(ended(&status, started, why))
    }

    fn grace(&self) -> Duration {
        let pod = self.feed.borrow().clone();
        let given = pod.value["metadata"]["deletionGracePeriodSeconds"].as_i64();
        let own = pod.value["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
        Duration::from_secs(given.unwrap_or(own).max(0).unsigned_abs())
    }

    /// SIGTERM to the group, and SIGKILL when the grace period (or the object's patience) is over.
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
                    // the grace period may be shortened by a second deletion
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

    /// The pod has ended for good.
    fn finished(&self, ended: &Ended) {
        let phase = if ended.code == 0 { "Succeeded" } else { "Failed" };
        self.state(phase, &Self::terminated(ended), false, false, |_| {});
    }

    /// Shows the end, waits as long as the crash loop demands, and counts the restart.
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

    fn keep_logs(&self, launched: &mut Launched) -> Logs {
        let (tx, mut rx) = mpsc::channel::<Vec<u8>>(64);
        if let Some(stdout) = launched.child.stdout.take() {
            tokio::spawn(read_lines(stdout, tx.clone()));
        }
        if let Some(stderr) = launched.child.stderr.take() {
            tokio::spawn(read_lines(stderr, tx));
        }
        let (hub, uid) = (self.hub.clone(), self.pod.uid().to_owned());
        Logs(tokio::spawn(async move {
            let Ok(mut file) = tokio::fs::File::create(hub.nodes.log_file(&uid, false)).await else { return };
            // the last line of a stream may lack its end; what follows from the other begins a new one
            let mut torn = false;
            while let Some(mut lines) = rx.recv().await {
                if torn {
                    lines.insert(0, b'\n');
                }
                torn = !lines.ends_with(b"\n");
                if file.write_all(&lines).await.is_err() || file.flush().await.is_err() {
                    return;
                }
                hub.nodes.tell_log(&uid);
            }
        }))
    }
}

struct Logs(tokio::task::JoinHandle<()>);

impl Logs {
    /// Waits for the last lines; a grandchild that holds the pipe open does not hold this up.
    async fn finish(self) {
        let _ = tokio::time::timeout(Duration::from_millis(500), self.0).await;
    }
}

/// Lines with the time they were read at.
async fn read_lines(from: impl AsyncRead + Unpin + Send + 'static, to: mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut stamped = crate::hub::now_micro().into_bytes();
        stamped.push(b' ');
        stamped.extend_from_slice(&line);
        if to.send(stamped).await.is_err() {
            return;
        }
    }
}

fn ended(status: &std::io::Result<ExitStatus>, started: String, message: String) -> Ended {
    let code = match status {
        Ok(s) => s.code().unwrap_or_else(|| 128 + s.signal().unwrap_or(0)),
        Err(_) => 255,
    };
    Ended { code, reason: if code == 0 { "Completed" } else { "Error" }, message, started }
}
