//! Ceph with an object gateway for tests: one monitor, one OSD in memory and one radosgw as child processes on
//! 127.0.0.1. The daemons use no keys among themselves and no manager; clients of the gateway see no difference.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, bail};
use nix::sys::signal::Signal;
use tokio::process::Command;
use uuid::Uuid;

use crate::process::{self, Running};

/// Longest time of a step. Each takes less than a second on a fast disk; the monitor waits for some forty writes.
const STEP_LIMIT: Duration = Duration::from_secs(90);
/// How often the start is attempted, each time from nothing.
const ATTEMPTS: u32 = 3;

/// A running gateway.
#[derive(Debug)]
pub struct Rgw {
    daemons: Vec<Running>,
    folder: PathBuf,
    pub endpoint: String,
    pub access_key: String,
    pub secret_key: String,
}

/// The settings that differ from Ceph's defaults.
fn settings(folder: &Path, fsid: &Uuid, monitor: u16, gateway: u16) -> String {
    let dir = folder.display();
    format!(
        "[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{monitor}/0
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
# no keys between the daemons; crc mode, as the default encrypts with keys
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
keyring = /dev/null
run_dir = {dir}/run
admin_socket = {dir}/run/$name.$pid.asok
crash_dir = {dir}/log
log_file = {dir}/log/$name.log
mon_cluster_log_file = {dir}/log/cluster.log
err_to_stderr = true
# one disk: one copy of everything, in few placement groups
osd_pool_default_size = 1
osd_pool_default_min_size = 1
mon_allow_pool_size_one = true
osd_crush_chooseleaf_type = 0
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
mon_max_pg_per_osd = 1000
# by default a monitor stops while the disk still has room for the tests
mon_data_avail_crit = 1
mon_data_avail_warn = 2
# do not wait to batch changes
paxos_propose_interval = 0.02
paxos_min_wait = 0.01

[mon]
mon_data = {dir}/mon
mon_allow_pool_delete = true

[osd]
osd_data = {dir}/osd
osd_objectstore = memstore
memstore_device_bytes = 4294967296
osd_class_load_list = *
osd_class_default_list = *
osd_op_num_shards = 2

[client]
objecter_tick_interval = 0.1
rgw_data = {dir}/run
rgw_frontends = beast endpoint=127.0.0.1:{gateway}
rgw_thread_pool_size = 32
rgw_rados_pool_pg_num_min = 4
rgw_relaxed_region_enforcement = true
rgw_crypt_require_ssl = false
rgw_enable_usage_log = true
rgw_usage_log_tick_interval = 1
rgw_usage_log_flush_threshold = 1
# apply quotas immediately
rgw_user_quota_bucket_sync_interval = 1
rgw_user_quota_sync_interval = 1
rgw_user_quota_sync_idle_users = true
rgw_run_sync_thread = false
rgw_dynamic_resharding = false
rgw_override_bucket_index_max_shards = 1
rgw_gc_obj_min_wait = 1
rgw_gc_processor_period = 5
"
    )
}

async fn step(what: &str, command: Command) -> anyhow::Result<()> {
    let ended = tokio::time::timeout(STEP_LIMIT, process::run(what, command)).await;
    ended.with_context(|| format!("{what}: timed out after {} s", STEP_LIMIT.as_secs()))?
}

impl Rgw {
    /// Starts an empty cluster in a new folder. The path must be short: unix sockets are created in it.
    pub async fn start(folder: &Path) -> anyhow::Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(folder.to_owned()).await {
                Ok(rgw) => return Ok(rgw),
                Err(error) => eprintln!("  {error:#}\n  retrying"),
            }
        }
        Self::attempt(folder.to_owned()).await
    }

    async fn attempt(folder: PathBuf) -> anyhow::Result<Self> {
        for part in ["mon", "osd", "log", "run"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let (monitor, gateway) = (process::free_port()?, process::free_port()?);
        let mut rgw = Self {
            daemons: Vec::new(),
            endpoint: format!("http://127.0.0.1:{gateway}"),
            access_key: Uuid::new_v4().simple().to_string()[..20].to_uppercase(),
            secret_key: format!("{}{}", Uuid::new_v4().simple(), &Uuid::new_v4().simple().to_string()[..8]),
            folder,
        };
        if let Err(error) = rgw.bring_up(monitor, gateway).await {
            let logs = rgw.logs();
            rgw.stop().await;
            bail!("Ceph did not start: {error:#}\n{logs}");
        }
        Ok(rgw)
    }

    async fn bring_up(&mut self, monitor: u16, gateway: u16) -> anyhow::Result<()> {
        let (fsid, osd_id) = (Uuid::new_v4(), Uuid::new_v4());
        let conf = self.folder.join("ceph.conf");
        std::fs::write(&conf, settings(&self.folder, &fsid, monitor, gateway))?;
        let ceph = |program: &str| {
            let mut command = process::command(program, Signal::SIGKILL);
            command.arg("-c").arg(&conf);
            command
        };
        let map = self.folder.join("monmap");
        let mut monmap = process::command("monmaptool", Signal::SIGKILL);
        monmap.args(["--create", "--fsid", &fsid.to_string(), "--addv", "a"]);
        monmap.arg(format!("[v2:127.0.0.1:{monitor}/0]")).arg(&map);
        step("monmaptool", monmap).await?;
        let mut mkfs = ceph("ceph-mon");
        mkfs.args(["-i", "a", "--mkfs", "--monmap"]).arg(&map);
        step("ceph-mon --mkfs", mkfs).await?;
        let mut mkfs = ceph("ceph-osd");
        // --no-mon-config: do not wait for the monitor, which is not up yet
        mkfs.args(["-i", "0", "--no-mon-config", "--mkfs", "--osd-uuid", &osd_id.to_string()]);
        step("ceph-osd --mkfs", mkfs).await?;

        let mut mon = ceph("ceph-mon");
        mon.args(["-i", "a", "-f"]);
        self.launch("ceph-mon", mon)?;
        let mut new = ceph("ceph");
        new.args(["osd", "new", &osd_id.to_string(), "0"]);
        step("ceph osd new", new).await?;
        let mut osd = ceph("ceph-osd");
        osd.args(["-i", "0", "-f"]);
        self.launch("ceph-osd", osd)?;
        let mut user = ceph("radosgw-admin");
        user.args(["user", "create", "--uid=admin", "--display-name=admin"]);
        user.args(["--access-key", &self.access_key, "--secret-key", &self.secret_key]);
        user.arg("--caps=users=*;buckets=*;usage=*;metadata=*");
        step("radosgw-admin user create", user).await?;
        let mut gateway = ceph("radosgw");
        gateway.args(["-n", "client.rgw", "-f"]);
        self.launch("radosgw", gateway)?;

        let http = crate::http::client()?;
        process::until("the object gateway answers", STEP_LIMIT, async || {
            for daemon in &mut self.daemons {
                if let Some(how) = daemon.has_ended() {
                    bail!("{} ended ({how})", daemon.name);
                }
            }
            Ok(http.get(&self.endpoint).send().await.is_ok_and(|answer| answer.status().is_success()))
        })
        .await
    }

    /// The last lines of each log.
    fn logs(&self) -> String {
        let files = std::fs::read_dir(self.folder.join("log")).into_iter().flatten().flatten();
        let tails = files.map(|file| {
            let log = std::fs::read_to_string(file.path()).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(20)..].join("\n");
            format!("  {}:\n{tail}\n", file.file_name().display())
        });
        tails.collect()
    }

    fn launch(&mut self, name: &'static str, mut command: Command) -> anyhow::Result<()> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("log/daemons.out"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.daemons.push(Running::spawn(name, command)?);
        Ok(())
    }

    /// Stops it and deletes its data.
    pub async fn stop(self) {
        for daemon in self.daemons.into_iter().rev() {
            // no clean shutdown: the data is deleted
            daemon.stop(Signal::SIGKILL, Duration::from_secs(5)).await;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("  cannot remove {}: {error}", self.folder.display());
        }
    }
}
