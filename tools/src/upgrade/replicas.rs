//! The replicas of each service, and HAProxy in front of them as a Service is in Kubernetes: it balances connections, and
//! opens none to a replica that is not ready or about to end.

use std::{collections::BTreeMap, net::TcpListener, path::PathBuf, sync::LazyLock, time::Duration};

use anyhow::{Context, bail};
use machine::config::Config;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};
use up::{
    gateways::{self, Gateway},
    platform::{Platform, stateful},
    settings,
};

/// Names of the replicas of a program: two of the old version, two of the new one.
type Names = [&'static str; 4];

static NAMES: LazyLock<BTreeMap<&str, [String; 4]>> = LazyLock::new(|| {
    let names = |service: &'static platform::Service| {
        (service.name.as_str(), [1, 2, 3, 4].map(|n| format!("{}-{n}", service.name)))
    };
    platform::services().iter().map(names).collect()
});

/// Services that are replaced before those that call them, in this order (docs/UPGRADE.md). The list of services does not say
/// it: their calls go in circles.
const CALLED: [&str; 3] = ["identity", "stock", "storage"];

/// First port of the replicas: that of a range without listeners, between those of `process::free_port` and those of
/// outgoing connections.
static FIRST_PORT: LazyLock<u16> = LazyLock::new(|| {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let ports = PORTS_OF_KIND * Kind::all().iter().map(|_| 1).sum::<u16>();
    let mut firsts = (30_000..32_700 - ports).step_by(usize::from(ports));
    firsts.find(|first| (*first..first + ports).all(is_free)).unwrap_or(30_000)
});
/// Ports of a kind.
const PORTS_OF_KIND: u16 = 10;
/// The preStop delay of Kubernetes, shortened, in which others learn that a replica ends.
const DRAIN: Duration = Duration::from_secs(2);
/// Time in which HAProxy notices that a replica is ready.
const NOTICE: Duration = Duration::from_secs(1);

/// A kind of process that the upgrade replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Service(&'static str),
    Gateway,
    Operator,
}

impl Kind {
    /// All, in the order in which they are replaced.
    pub(super) fn all() -> Vec<Self> {
        let mut services = stateful();
        services.sort_by_key(|name| CALLED.iter().position(|called| called == name).unwrap_or(CALLED.len()));
        services.into_iter().map(Self::Service).chain([Self::Gateway, Self::Operator]).collect()
    }

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Service(name) => name,
            Self::Gateway => "gateway",
            Self::Operator => "operator",
        }
    }

    fn names(self) -> Names {
        NAMES[self.program()].each_ref().map(String::as_str)
    }

    fn number(self) -> u16 {
        let before = Self::all().into_iter().take_while(|kind| *kind != self);
        before.map(|_| 1).sum()
    }

    /// The port of the replica in this slot; a second one (metrics, SSH, workers) is five further.
    fn port(self, slot: u16) -> u16 {
        *FIRST_PORT + self.number() * PORTS_OF_KIND + slot
    }
}

fn gateway(slot: u16) -> Gateway {
    let port = Kind::Gateway.port(slot);
    Gateway { name: Kind::Gateway.names()[usize::from(slot)], port, metrics_port: port + 5, tls: None }
}

/// The configuration of HAProxy for all slots. Those without a replica are down.
pub(super) fn balancer(config: &Config, socket: &std::path::Path) -> String {
    let mut text = gateways::balancer(config, &[0, 1, 2, 3].map(gateway));
    text =
        text.replacen("global\n", &format!("global\n    stats socket {} level admin\n", socket.display()), 1);
    for kind in Kind::all() {
        let Kind::Service(name) = kind else { continue };
        let (port, replicas) = (config.ports[name], kind.names());
        let servers: String = (0..4_u16)
            .map(|slot| {
                let replica = replicas[usize::from(slot)];
                format!("    server {replica} 127.0.0.1:{} check\n", kind.port(slot))
            })
            .collect();
        text.push_str(&format!(
            "listen {name}\n    mode tcp\n    bind 127.0.0.1:{port}\n    balance roundrobin\n    option httpchk\n    \
             http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost\n    \
             default-server inter 300ms fall 1 rise 1\n{servers}"
        ));
    }
    text
}

/// All replicas of a platform.
pub(super) struct Replicas {
    pub(super) platform: Platform,
    socket: PathBuf,
}

impl Replicas {
    pub(super) fn new(platform: Platform) -> Self {
        let socket = platform.data.join("balancer.sock");
        Self { platform, socket }
    }

    /// Starts HAProxy.
    pub(super) fn start_balancer(&mut self) -> anyhow::Result<()> {
        let config = balancer(&self.platform.config, &self.socket);
        self.platform.start_balancer(&config)
    }

    /// The configuration of the replica in a slot.
    fn settings(&self, kind: Kind, slot: u16) -> String {
        let platform = &self.platform;
        let mut config = platform.config.clone();
        let port = kind.port(slot);
        match kind {
            Kind::Service(name) => {
                config.ports[name] = port;
                for (service, second) in [("jobs", "jobs_workers"), ("gpu", "ssh")] {
                    if name == service {
                        config.ports[second] = port + 5;
                    }
                }
                settings::service(name, &config, &platform.datacenters, &platform.data, &platform.secrets)
            }
            Kind::Gateway => {
                let modules = gateways::modules(&platform.datacenters, &[0, 1, 2, 3].map(gateway));
                gateway(slot).settings(&config, &platform.secrets, &modules)
            }
            Kind::Operator => {
                let mut datacenter = platform.datacenters[0].clone();
                datacenter.operator_port = port;
                let text = settings::operator(&datacenter, &platform.data, &platform.secrets);
                text.replace("\"operator-1\"", &format!("\"{}\"", Kind::Operator.names()[usize::from(slot)]))
            }
        }
    }

    /// Starts the replica in a slot, and waits until it is ready. A program of an older version may refuse settings that it
    /// does not know: it runs without them, as it did before.
    pub(super) async fn start(&mut self, kind: Kind, slot: u16) -> anyhow::Result<()> {
        let name = kind.names()[usize::from(slot)];
        let url = match kind {
            Kind::Gateway => format!("http://127.0.0.1:{}/readyz", gateway(slot).metrics_port),
            _ => format!("http://127.0.0.1:{}/readyz", kind.port(slot)),
        };
        let mut text = self.settings(kind, slot);
        for _ in 0..5 {
            self.platform.start(kind.program(), name, &text)?;
            let error = match self.platform.wait_for(name, &url).await {
                Ok(()) => {
                    tokio::time::sleep(NOTICE).await;
                    return Ok(());
                }
                Err(error) => error,
            };
            self.platform.stop_one(name).await;
            let unknown = unknown_setting(&format!("{error:#}")).ok_or(error)?;
            println!("  {name} does not know the setting `{unknown}`");
            text = without(&text, &unknown);
        }
        bail!("{name} refuses its settings")
    }

    /// Ends the replica in a slot like Kubernetes: others stop connecting to it, then it is signalled.
    pub(super) async fn stop(&mut self, kind: Kind, slot: u16) -> anyhow::Result<()> {
        let name = kind.names()[usize::from(slot)];
        if let Kind::Service(service) = kind {
            self.command(&format!("set server {service}/{name} state drain")).await?;
            tokio::time::sleep(DRAIN).await;
        }
        self.platform.stop_one(name).await;
        Ok(())
    }

    /// A command of HAProxy's runtime API.
    async fn command(&self, command: &str) -> anyhow::Result<()> {
        let mut socket = UnixStream::connect(&self.socket).await.context("HAProxy does not answer")?;
        socket.write_all(format!("{command}\n").as_bytes()).await?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await?;
        anyhow::ensure!(answer.trim().is_empty(), "{command}: {answer}");
        Ok(())
    }
}

/// The setting that a program refused to start with.
fn unknown_setting(error: &str) -> Option<String> {
    let rest = error.split("unknown field: found `").nth(1)?;
    rest.split('`').next().map(str::to_owned)
}

/// The configuration without a setting of the top level: a line, or a table.
fn without(text: &str, setting: &str) -> String {
    let mut kept = String::new();
    let mut in_table = false;
    for line in text.lines() {
        if line.starts_with('[') {
            let name = line.trim_matches(['[', ']']);
            in_table =
                name == setting || name.strip_prefix(setting).is_some_and(|rest| rest.starts_with('.'));
        }
        let is_line = line.split('=').next().is_some_and(|name| name.trim() == setting) && line.contains('=');
        if !in_table && !is_line {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_the_older_program_refuses_is_removed() {
        let error =
            "the log:\nError: unknown field: found `modules`, expected `one of `listen`` for key \"default\"";
        assert_eq!(unknown_setting(error).as_deref(), Some("modules"));
        assert_eq!(unknown_setting("the port is in use"), None);
        let text = "a = 1\nmodules = { b = 1 }\n[modules]\nx = 1\n[modules.y]\nz = 1\n[modules_2]\nw = 1\n";
        assert_eq!(without(text, "modules"), "a = 1\n[modules_2]\nw = 1\n");
    }

    #[test]
    fn services_are_replaced_in_the_documented_order() {
        let services = Kind::all().into_iter().filter(|kind| matches!(kind, Kind::Service(_)));
        let order: Vec<_> = services.map(Kind::program).collect();
        let guide = std::fs::read_to_string(xtask::root().join("docs/UPGRADE.md")).unwrap();
        assert!(guide.contains(&format!("callees before callers: {}. ", order.join(", "))), "{order:?}");
    }

    #[test]
    fn no_two_replicas_have_a_port_in_common() {
        let mut ports: Vec<_> = Kind::all()
            .into_iter()
            .flat_map(|kind| (0..4).flat_map(move |slot| [kind.port(slot), kind.port(slot) + 5]))
            .collect();
        let count = ports.len();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), count);
    }
}
