//! The gateways as processes: their restarts, memory and open files.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use machine::process;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Time for a gateway to end and to be ready again.
const RESTART: Duration = Duration::from_secs(60);
/// Time for connections of the load to be closed.
const SETTLE: Duration = Duration::from_secs(60);
/// Files that a gateway without requests has open at most: listeners, the runtime, feeds, idle connections to services.
const IDLE_DESCRIPTORS: usize = 64;

pub(super) struct Replicas {
    gateways: Vec<Gateway>,
}

struct Gateway {
    /// The configuration file, which names the process.
    config: PathBuf,
    /// URL of its own `/readyz`.
    ready: String,
    /// Bytes, in the order of the measurements.
    memory: Vec<u64>,
}

impl Replicas {
    /// The two gateways of the running platform.
    pub(super) fn find(data: &Path) -> anyhow::Result<Self> {
        let gateways = ["gateway-1", "gateway-2"].map(|name| {
            let config = data.join(format!("config/{name}.toml"));
            let text = std::fs::read_to_string(&config).context("`up` runs without `--gateways 2`")?;
            let metrics = text.lines().find_map(|line| line.strip_prefix("metrics_listen = \""));
            let metrics = metrics.and_then(|rest| rest.strip_suffix('"')).context("no metrics_listen")?;
            let gateway = Gateway { config, ready: format!("http://{metrics}/readyz"), memory: Vec::new() };
            gateway.pid()?;
            anyhow::Ok(gateway)
        });
        Ok(Self { gateways: gateways.into_iter().collect::<Result<_, _>>()? })
    }

    /// Restarts the gateways one after the other; `up` starts what ends. Returns their number.
    pub(super) async fn restart(&mut self) -> anyhow::Result<u32> {
        let mut restarts = 0;
        let http = machine::http::client()?;
        for gateway in &self.gateways {
            let old = gateway.pid()?;
            kill(old, Signal::SIGTERM)?;
            process::until("another gateway is ready", RESTART, async || {
                let is_new = gateway.pid().is_ok_and(|pid| pid != old);
                let ready =
                    async || http.get(&gateway.ready).send().await.is_ok_and(|answer| answer.status() == 200);
                Ok(is_new && ready().await)
            })
            .await?;
            // the balancer has seen it, too
            tokio::time::sleep(Duration::from_secs(1)).await;
            restarts += 1;
            println!("restarted {}", gateway.name());
        }
        Ok(restarts)
    }

    pub(super) fn record_memory(&mut self) -> anyhow::Result<()> {
        for gateway in &mut self.gateways {
            let bytes = process::memory(gateway.pid()?).context("no memory of a gateway")?;
            println!("{} has {} MiB", gateway.name(), bytes / (1024 * 1024));
            gateway.memory.push(bytes);
        }
        Ok(())
    }

    /// The last measurement relative to the one before, of the gateway that grew most.
    #[expect(clippy::cast_precision_loss, reason = "sizes of processes")]
    pub(super) fn memory_growth(&self) -> anyhow::Result<f64> {
        let growth = self.gateways.iter().filter_map(|gateway| {
            let [.., before, after] = gateway.memory[..] else { return None };
            Some(after as f64 / before as f64)
        });
        growth.max_by(f64::total_cmp).context("no measurements")
    }

    /// Open files beyond those of an idle gateway, once the load has ended.
    pub(super) async fn descriptors_left(&self) -> anyhow::Result<usize> {
        let mut left = 0;
        for gateway in &self.gateways {
            let settled = process::until("connections are closed", SETTLE, async || {
                Ok(gateway.descriptors()? <= IDLE_DESCRIPTORS)
            });
            if settled.await.is_err() {
                left += gateway.descriptors()?;
            }
        }
        Ok(left)
    }
}

impl Gateway {
    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.config.file_stem().unwrap_or_default().to_string_lossy()
    }

    fn pid(&self) -> anyhow::Result<Pid> {
        let config = self.config.to_string_lossy();
        for entry in std::fs::read_dir("/proc")? {
            let entry = entry?;
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // one that has ended in between
            let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
            if line.split(|byte| *byte == 0).any(|argument| argument == config.as_bytes()) {
                return Ok(Pid::from_raw(pid));
            }
        }
        anyhow::bail!("{} does not run", self.name())
    }

    fn descriptors(&self) -> anyhow::Result<usize> {
        let count = std::fs::read_dir(format!("/proc/{}/fd", self.pid()?))?.count();
        ensure!(count > 0, "no open files");
        Ok(count)
    }
}
