//! A RabbitMQ node for development and tests: the machine's `rabbitmq-server`, on 127.0.0.1 only, with a folder and
//! ports of its own. It ends with this process; [`end_leftovers`] ends nodes that a killed process left behind.

use std::{
    fmt::Write as _,
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

/// Where Debian and Ubuntu install the programs. The one in `/usr/sbin` changes the user and the folder.
const PROGRAMS: &str = "/usr/lib/rabbitmq/bin";
/// Longest time of a start.
const START_LIMIT: Duration = Duration::from_secs(90);
/// Time for a clean stop.
const STOP_LIMIT: Duration = Duration::from_secs(15);
/// Longest time for the processes of a killed node to end.
const LEFTOVER_LIMIT: Duration = Duration::from_secs(10);
/// The user of the platform's own services.
const USER: &str = "atelier";
/// The variable with the folder of the data, which all processes of a node have.
const MARK: &str = "RABBITMQ_MNESIA_BASE";

/// Returns whether this machine has RabbitMQ.
#[must_use]
pub fn is_installed() -> bool {
    Path::new(PROGRAMS).join("rabbitmq-server").is_file()
}

/// Returns the version of the machine's RabbitMQ.
#[must_use]
pub fn version() -> Option<String> {
    let entries = std::fs::read_dir("/usr/lib/rabbitmq/lib").ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_prefix("rabbitmq_server-").map(str::to_owned)).max()
}

/// Options to start a node.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its data, logs and settings. It survives the node.
    pub folder: PathBuf,
    /// Port for AMQP; a free one if none.
    pub port: Option<u16>,
    /// Base URL of the service that decides about users other than the platform's own.
    pub auth: Option<String>,
}

/// A running node.
#[derive(Debug)]
pub struct Broker {
    folder: PathBuf,
    port: u16,
    management_port: u16,
    distribution: u16,
    epmd_port: u16,
    password: String,
    children: Vec<(&'static str, Child)>,
}

impl Broker {
    /// Starts a node, and waits until it takes connections.
    ///
    /// # Errors
    /// If RabbitMQ is not installed, or does not start.
    pub async fn start(options: &Options) -> anyhow::Result<Self> {
        let mut broker = Self::launch(options)?;
        let Err(error) = broker.answers().await else { return Ok(broker) };
        // another process has taken a port that was free
        if !["already_used", "eaddrinuse"].iter().any(|taken| error.to_string().contains(taken)) {
            return Err(error);
        }
        let mut broker = Self::launch(options)?;
        broker.answers().await?;
        Ok(broker)
    }

    /// Starts the processes of a node, which takes connections once it [answers](Self::answers).
    ///
    /// # Errors
    /// If RabbitMQ is not installed, or the folder is not writable.
    pub fn launch(options: &Options) -> anyhow::Result<Self> {
        let folder = std::path::absolute(&options.folder)?;
        for part in ["data", "log"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let mut broker = Self {
            port: options.port.map_or_else(free_port, Ok)?,
            management_port: free_port()?,
            distribution: free_port()?,
            epmd_port: free_port()?,
            password: secret(&folder.join("password"))?,
            folder,
            children: Vec::new(),
        };
        // left to Erlang it would be in the home of the user, for all nodes
        secret(&broker.folder.join(".erlang.cookie"))?;
        std::fs::write(
            broker.folder.join("enabled_plugins"),
            "[rabbitmq_auth_backend_http, rabbitmq_management].\n",
        )?;
        std::fs::write(broker.folder.join("rabbitmq.conf"), broker.settings(options.auth.as_deref()))?;
        broker.spawn_all()?;
        Ok(broker)
    }

    /// `amqp://…` with the platform's own user.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(USER, &self.password)
    }

    /// `http://…` of the management API, with the platform's own user.
    #[must_use]
    pub fn management_url(&self) -> String {
        format!("http://{USER}:{}@127.0.0.1:{}", self.password, self.management_port)
    }

    /// `amqp://…` with another user.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str) -> String {
        format!("amqp://{user}:{password}@127.0.0.1:{}/%2f", self.port)
    }

    /// Kills the node at once, as a crash does. Its data stay.
    pub async fn kill(&mut self) {
        self.end(Signal::SIGKILL, STOP_LIMIT).await;
    }

    /// Starts the node again after [`Self::kill`] or [`Self::stop`], with the data that it has.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.spawn_all()?;
        self.answers().await
    }

    /// Waits until a process of the node has ended. Returns which, and how.
    pub async fn ended(&mut self) -> String {
        loop {
            match self.find_ended() {
                Ok(None) => tokio::time::sleep(Duration::from_millis(200)).await,
                Ok(Some(how)) => return how,
                Err(error) => return format!("{error:#}"),
            }
        }
    }

    /// The node's process; none after [`Self::kill`] or [`Self::stop`].
    #[must_use]
    pub fn pid(&self) -> Option<Pid> {
        let (_, node) = self.children.last()?;
        Some(Pid::from_raw(i32::try_from(node.id()?).ok()?))
    }

    /// Stops the node. Its data stay.
    pub async fn stop(&mut self) {
        self.end(Signal::SIGTERM, STOP_LIMIT).await;
    }

    fn settings(&self, auth: Option<&str>) -> String {
        let mut settings = format!(
            "listeners.tcp.1 = 127.0.0.1:{}
default_user = {USER}
default_pass = {}
default_vhost = /
vm_memory_high_watermark.absolute = 512MB
# on a full disk the broker stops publishers without an error
disk_free_limit.absolute = 100MB
max_message_size = 1048576
channel_max = 64
management.tcp.ip = 127.0.0.1
management.tcp.port = {}
management_agent.disable_metrics_collector = true
log.console = false
log.file = rabbit.log
log.file.level = info
auth_backends.1 = internal
",
            self.port, self.password, self.management_port
        );
        if let Some(auth) = auth {
            settings.push_str("auth_backends.2 = http\nauth_http.http_method = post\n");
            for what in ["user", "vhost", "resource", "topic"] {
                let _ = writeln!(settings, "auth_http.{what}_path = {auth}/mq/v1/{what}");
            }
        }
        settings
    }

    fn spawn_all(&mut self) -> anyhow::Result<()> {
        // its own, as one that Erlang starts outlives the node
        let mut epmd = self.command("epmd");
        epmd.args(["-port", &self.epmd_port.to_string(), "-address", "127.0.0.1"]);
        self.spawn("epmd", epmd)?;
        let mut server = self.command(format!("{PROGRAMS}/rabbitmq-server"));
        server.arg("-noinput");
        self.spawn("rabbitmq-server", server)
    }

    /// Waits until the node takes connections.
    ///
    /// # Errors
    /// If it does not. Then it is killed.
    pub async fn answers(&mut self) -> anyhow::Result<()> {
        if let Err(error) = self.ready().await {
            let logs = ["console.log", "rabbit.log"].map(|name| self.tail(name));
            self.kill().await;
            bail!("RabbitMQ did not start: {error:#}\n{}", logs.join("\n"));
        }
        Ok(())
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            if let Some(how) = self.find_ended()? {
                bail!("{how}");
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.is_ok() {
                return Ok(());
            }
            if begun.elapsed() > START_LIMIT {
                bail!("timed out after {} s", START_LIMIT.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn find_ended(&mut self) -> anyhow::Result<Option<String>> {
        for (name, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(format!("{name} has ended ({status})")));
            }
        }
        Ok(self.children.is_empty().then(|| "it does not run".to_owned()))
    }

    /// A command of the node, in a process group of its own; it is killed when this process dies.
    fn command(&self, program: impl Into<PathBuf>) -> Command {
        let mut command = std::process::Command::new(program.into());
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = |name: &str| self.folder.join(name);
        command
            .env_clear()
            .env("PATH", format!("{PROGRAMS}:{path}"))
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", &self.folder)
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_NODENAME", format!("atelier-{}@localhost", self.port))
            .env("RABBITMQ_CONFIG_FILE", folder("rabbitmq.conf"))
            .env("RABBITMQ_ADVANCED_CONFIG_FILE", folder("advanced.config"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder("enabled_plugins"))
            .env(MARK, folder("data"))
            .env("RABBITMQ_LOG_BASE", folder("log"))
            .env("ERL_CRASH_DUMP", folder("log/erl_crash.dump"))
            .env("RABBITMQ_DIST_PORT", self.distribution.to_string())
            .env("RABBITMQ_ALLOW_INPUT", "1")
            .env("ERL_EPMD_PORT", self.epmd_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "+S 2:2 +A 16 -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
            )
            .process_group(0);
        #[cfg(target_os = "linux")]
        {
            let set = || nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(std::io::Error::from);
            #[expect(unsafe_code, reason = "makes one system call between fork and exec")]
            unsafe {
                command.pre_exec(set);
            }
        }
        Command::from(command)
    }

    fn spawn(&mut self, name: &'static str, mut command: Command) -> anyhow::Result<()> {
        let file = self.folder.join("log/console.log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        self.children.push((name, child));
        Ok(())
    }

    fn tail(&self, name: &str) -> String {
        let log = std::fs::read_to_string(self.folder.join("log").join(name)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    async fn end(&mut self, signal: Signal, grace: Duration) {
        // the node before its epmd
        while let Some((_, mut child)) = self.children.pop() {
            let pid = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
            let send = |signal| {
                if let Some(pid) = pid {
                    // it may have ended in between
                    let _ = killpg(pid, signal);
                }
            };
            send(signal);
            if tokio::time::timeout(grace, child.wait()).await.is_err() {
                send(Signal::SIGKILL);
                let _ = child.wait().await;
            }
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        for (_, child) in &self.children {
            if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()) {
                let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

/// Kills the processes that a killed process has left of the node with this folder, and waits until they have ended. Linux only:
/// elsewhere none are found.
///
/// # Errors
/// If they do not end.
pub async fn end_leftovers(folder: &Path) -> anyhow::Result<()> {
    let folder = std::path::absolute(folder)?;
    let begun = Instant::now();
    loop {
        let left = processes(&folder);
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > LEFTOVER_LIMIT {
            bail!("processes of a killed RabbitMQ do not end: {left:?}");
        }
        for pid in left {
            // it may have ended in between
            let _ = kill(pid, Signal::SIGKILL);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The processes of the node with this folder, an absolute path. One that has ended is none. Linux only: elsewhere none are found.
#[must_use]
pub fn processes(folder: &Path) -> Vec<Pid> {
    let mark = format!("{MARK}={}", folder.join("data").display());
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let has = |process: &std::fs::DirEntry| {
        let variables = std::fs::read(process.path().join("environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    };
    let pid = |process: std::fs::DirEntry| process.file_name().to_str()?.parse().ok().map(Pid::from_raw);
    processes.filter(has).filter_map(pid).collect()
}

/// The secret in a file, which is created unless it exists.
fn secret(file: &Path) -> anyhow::Result<String> {
    if let Ok(secret) = std::fs::read_to_string(file) {
        return Ok(secret);
    }
    let secret = format!("{:032x}", rand::random::<u128>());
    std::fs::write(file, &secret)?;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o400))?;
    Ok(secret)
}

/// A free port of 127.0.0.1 below the range of outgoing connections.
fn free_port() -> anyhow::Result<u16> {
    std::iter::repeat_with(|| rand::random_range(20_000..30_000))
        .take(100)
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .context("no port of 127.0.0.1 is free")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_killed_process_has_left_of_a_node_is_ended() {
        let folder = std::env::temp_dir().join(format!("{:032x}", rand::random::<u128>()));
        let start = |data: PathBuf| {
            let mut command = std::process::Command::new("sleep");
            command.arg("1000").env(MARK, data).spawn().unwrap()
        };
        let (mut left, mut other) = (start(folder.join("data")), start(folder.join("data-2")));
        end_leftovers(&folder).await.unwrap();
        assert!(left.try_wait().unwrap().is_some(), "it runs on");
        assert!(other.try_wait().unwrap().is_none(), "that of another node has ended");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
