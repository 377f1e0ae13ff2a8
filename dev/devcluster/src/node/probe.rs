//! Startup, readiness and liveness probes. A probe that has not succeeded yet is repeated quickly at first, for fast
//! starts. Failures are counted in time (`failureThreshold` × `periodSeconds`), so that this never fails a pod earlier.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use objects::json::{items, text, texts};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::runtime::Sandbox;
use crate::runtime::process::{Launch, Spawner, signal_group};

/// A result of the probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    Started,
    Ready(bool),
    /// The container must be killed; the message names the failed probe.
    Dead(String),
    /// A failed probe that is reported as an event.
    Failing(&'static str, String),
}

struct Probe {
    spec: Value,
    delay: Duration,
    period: Duration,
    timeout: Duration,
    failures: u32,
    successes: u32,
}

impl Probe {
    fn of(container: &Value, name: &str) -> Option<Self> {
        let spec = container.get(name).filter(|p| p.is_object())?.clone();
        let seconds =
            |field: &str, default: u64| Duration::from_secs(spec[field].as_u64().unwrap_or(default));
        let count = |field: &str, default: u32| {
            spec[field].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(default).max(1)
        };
        Some(Self {
            delay: seconds("initialDelaySeconds", 0),
            period: seconds("periodSeconds", 10).max(Duration::from_secs(1)),
            timeout: seconds("timeoutSeconds", 1).max(Duration::from_secs(1)),
            failures: count("failureThreshold", 3),
            successes: count("successThreshold", 1),
            spec,
        })
    }
}

const QUICK: Duration = Duration::from_millis(20);

/// Runs the probes of a container until the receiver is dropped.
pub(super) async fn run(
    spawner: Arc<Spawner>,
    container: Value,
    ip: String,
    sandbox: Sandbox,
    tell: mpsc::Sender<Finding>,
) {
    if let Some(probe) = Probe::of(&container, "startupProbe") {
        sleep(probe.delay).await;
        let deadline = Instant::now() + probe.period * probe.failures;
        let mut pause = QUICK;
        let mut said = false;
        loop {
            match check(&spawner, &probe, &container, &ip, &sandbox).await {
                Ok(()) => break,
                Err(why) if Instant::now() >= deadline => {
                    let _ = tell.send(Finding::Dead(format!("Startup probe failed: {why}"))).await;
                    return;
                }
                Err(why) => {
                    if !said && pause >= probe.period {
                        said = true;
                        let _ = tell.send(Finding::Failing("Startup probe failed", why)).await;
                    }
                }
            }
            sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
            pause = (pause * 3 / 2).min(probe.period);
        }
    }
    if tell.send(Finding::Started).await.is_err() {
        return;
    }
    let readiness = readiness(&spawner, &container, &ip, &sandbox, &tell);
    let liveness = liveness(&spawner, &container, &ip, &sandbox, &tell);
    tokio::select! {
        () = async { tokio::join!(readiness, liveness); } => {}
        () = tell.closed() => {}
    }
}

async fn readiness(
    spawner: &Spawner,
    container: &Value,
    ip: &str,
    sandbox: &Sandbox,
    tell: &mpsc::Sender<Finding>,
) {
    let Some(probe) = Probe::of(container, "readinessProbe") else {
        let _ = tell.send(Finding::Ready(true)).await;
        return;
    };
    sleep(probe.delay).await;
    let (mut ready, mut good, mut bad, mut pause, mut said) = (false, 0, 0, QUICK, false);
    loop {
        match check(spawner, &probe, container, ip, sandbox).await {
            Ok(()) => {
                (good, bad) = (good + 1, 0);
                if !ready && good >= probe.successes {
                    ready = true;
                    if tell.send(Finding::Ready(true)).await.is_err() {
                        return;
                    }
                }
            }
            Err(why) => {
                (good, bad) = (0, bad + 1);
                if ready && bad >= probe.failures {
                    ready = false;
                    pause = QUICK;
                    let _ = tell.send(Finding::Ready(false)).await;
                }
                if !said && (ready || pause >= probe.period) {
                    said = true;
                    let _ = tell.send(Finding::Failing("Readiness probe failed", why)).await;
                }
            }
        }
        if ready {
            sleep(probe.period).await;
        } else {
            sleep(pause).await;
            pause = (pause * 3 / 2).min(probe.period);
        }
    }
}

async fn liveness(
    spawner: &Spawner,
    container: &Value,
    ip: &str,
    sandbox: &Sandbox,
    tell: &mpsc::Sender<Finding>,
) {
    let Some(probe) = Probe::of(container, "livenessProbe") else { return };
    sleep(probe.delay).await;
    let mut bad = 0;
    loop {
        sleep(probe.period).await;
        match check(spawner, &probe, container, ip, sandbox).await {
            Ok(()) => bad = 0,
            Err(why) => {
                bad += 1;
                let _ = tell.send(Finding::Failing("Liveness probe failed", why.clone())).await;
                if bad >= probe.failures {
                    let _ = tell.send(Finding::Dead(format!("Liveness probe failed: {why}"))).await;
                    return;
                }
            }
        }
    }
}

async fn check(
    spawner: &Spawner,
    probe: &Probe,
    container: &Value,
    ip: &str,
    sandbox: &Sandbox,
) -> Result<(), String> {
    let spec = &probe.spec;
    let work = async {
        if spec["httpGet"].is_object() {
            http_get(&spec["httpGet"], container, ip).await
        } else if spec["tcpSocket"].is_object() {
            let (host, port) = address(&spec["tcpSocket"], container, ip)?;
            TcpStream::connect((host.as_str(), port)).await.map(drop).map_err(|e| e.to_string())
        } else {
            exec(spawner, &spec["exec"]["command"], sandbox).await
        }
    };
    timeout(probe.timeout, work).await.unwrap_or_else(|_| Err("timed out".into()))
}

/// Host and port of a handler; the port may be the name of a container port.
fn address(handler: &Value, container: &Value, ip: &str) -> Result<(String, u16), String> {
    let host = handler["host"].as_str().filter(|h| !h.is_empty()).unwrap_or(ip).to_owned();
    let port = match &handler["port"] {
        Value::String(name) => {
            items(&container["ports"]).iter().find(|p| p["name"] == *name).map(|p| &p["containerPort"])
        }
        number => Some(number),
    };
    let port = port.and_then(Value::as_u64).and_then(|p| u16::try_from(p).ok());
    Ok((host, port.ok_or("no such port")?))
}

async fn http_get(handler: &Value, container: &Value, ip: &str) -> Result<(), String> {
    let (host, port) = address(handler, container, ip)?;
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
    let mut request = http::Request::get(format!("http://{host}:{port}{}", text(&handler["path"])))
        .header(http::header::USER_AGENT, "kube-probe/1.34");
    for header in items(&handler["httpHeaders"]) {
        request = request.header(text(&header["name"]), text(&header["value"]));
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|e| e.to_string())?;
    let status = client.request(request).await.map_err(|e| e.to_string())?.status().as_u16();
    if (200..400).contains(&status) {
        Ok(())
    } else {
        Err(format!("HTTP probe failed with statuscode: {status}"))
    }
}

async fn exec(spawner: &Spawner, command: &Value, sandbox: &Sandbox) -> Result<(), String> {
    let argv = texts(command).map(str::to_owned).collect();
    let launch =
        Launch { argv, env: sandbox.env.clone(), cwd: sandbox.cwd.clone(), stdin: false, tty: false };
    let mut launched = spawner.launch(launch).await.map_err(|e| format!("{e:#}"))?;
    let guard = KillGroup(launched.pid);
    let status = launched.child.wait().await.map_err(|e| e.to_string())?;
    drop(guard);
    if status.success() { Ok(()) } else { Err(format!("command exited with {status}")) }
}

/// Kills the command of a probe at its timeout.
struct KillGroup(i32);

impl Drop for KillGroup {
    fn drop(&mut self) {
        signal_group(self.0, nix::sys::signal::Signal::SIGKILL);
    }
}
