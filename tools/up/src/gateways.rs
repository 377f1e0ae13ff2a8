//! The gateway, or two of them behind HAProxy.

use std::path::{Path, PathBuf};

use machine::{config::Config, secrets::Secrets};

use super::settings::{Datacenter, revocable};

/// Name of the process of HAProxy.
pub const BALANCER: &str = "balancer";

/// A gateway.
#[derive(Debug, Clone)]
pub struct Gateway {
    /// Name of the process.
    pub name: &'static str,
    pub port: u16,
    pub metrics_port: u16,
    /// Folder of `tls.crt` and `tls.key`: serves HTTPS, and is not behind the balancer.
    pub tls: Option<PathBuf>,
}

/// One gateway on the public port, or two for a balancer on the public port.
pub fn gateways(config: &Config, count: usize) -> Vec<Gateway> {
    let ports = &config.ports;
    if count < 2 {
        return vec![Gateway {
            name: "gateway",
            port: ports["gateway"],
            metrics_port: ports["gateway_metrics"],
            tls: None,
        }];
    }
    vec![
        Gateway {
            name: "gateway-1",
            port: ports["gateway_1"],
            metrics_port: ports["gateway_metrics"],
            tls: None,
        },
        Gateway {
            name: "gateway-2",
            port: ports["gateway_2"],
            metrics_port: ports["gateway_2_metrics"],
            tls: None,
        },
    ]
}

/// Addresses at which replicas of modules report their health, for the configuration file: of modules that
/// the gateway does not know as services.
pub fn modules(datacenters: &[Datacenter], gateways: &[Gateway]) -> String {
    let url = |port: u16| format!("\"http://127.0.0.1:{port}\"");
    let mut modules: Vec<_> = datacenters
        .iter()
        .map(|one| format!("operator-{} = [{}]", one.name, url(one.operator_port)))
        .collect();
    let all: Vec<_> = gateways.iter().map(|gateway| url(gateway.metrics_port)).collect();
    modules.push(format!("gateway = [{}]", all.join(", ")));
    format!("modules = {{ {} }}\n", modules.join(", "))
}

/// Where the built console is, for the configuration file.
pub fn console(config: &Config, folder: &Path) -> String {
    let objects = config.ports["object_store"];
    let folder = folder.display();
    format!("\n[console]\ndirectory = \"{folder}\"\ncontent_origins = [\"http://127.0.0.1:{objects}\"]\n")
}

impl Gateway {
    /// The configuration file.
    pub fn settings(&self, config: &Config, secrets: &Secrets, modules: &str) -> String {
        let ports = &config.ports;
        let tls = self.tls.as_ref().map(|folder| {
            let folder = folder.display();
            format!(
                "[[tls.certificates]]\ncertificate = \"{folder}/tls.crt\"\nkey = \"{folder}/tls.key\"\n\n"
            )
        });
        let behind_balancer = if self.port == ports["gateway"] || tls.is_some() {
            "drain_seconds = 0\n"
        } else {
            // all requests come from this machine, and a load test is not to be limited
            r#"drain_seconds = 3
proxy_protocol = { trusted = ["127.0.0.0/8"] }

[limits]
requests_per_second = 100000
request_burst = 100000
tenant_requests_per_second = 100000
tenant_request_burst = 100000
address_requests_per_second = 100000
address_request_burst = 100000
"#
        };
        let services = platform::routed()
            .map(|service| format!("{} = \"http://127.0.0.1:{}\"\n", service.name, ports[&service.name]));
        format!(
            r#"listen = "127.0.0.1:{port}"
metrics_listen = "127.0.0.1:{metrics}"
public_url = "{scheme}://localhost:{public}"
gpu_token = "{token}"
{modules}{behind_balancer}
[[cookie_keys]]
id = "1"
key = "{cookie_key}"

[apps]
domain = "{domain}"

[services]
{services}
{tls}{auth}"#,
            port = self.port,
            metrics = self.metrics_port,
            public = ports["gateway"],
            token = secrets.token("gateway"),
            cookie_key = secrets.cookie_key,
            domain = config.apps_domain,
            services = services.collect::<String>(),
            scheme = if tls.is_some() { "https" } else { "http" },
            tls = tls.unwrap_or_default(),
            auth = revocable(config, secrets.token("gateway")),
        )
    }
}

/// The configuration of HAProxy, which sends requests to the gateways that are ready. It repeats none, so that one that a
/// gateway loses is seen.
pub fn balancer(config: &Config, gateways: &[Gateway]) -> String {
    let servers: String = gateways
        .iter()
        .filter(|gateway| gateway.tls.is_none())
        .map(|Gateway { name, port, .. }| {
            format!("    server {name} 127.0.0.1:{port} send-proxy-v2 check check-send-proxy\n")
        })
        .collect();
    format!(
        "global\n    maxconn 4096\n\
         defaults\n    mode http\n    timeout connect 2s\n    timeout check 2s\n    timeout client 1h\n    timeout server 1h\n    \
         timeout tunnel 1h\n    retries 0\n\
         frontend public\n    bind 127.0.0.1:{public}\n    default_backend gateways\n\
         backend gateways\n    balance roundrobin\n    option httpchk\n    \
         http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost\n    \
         default-server inter 300ms fall 1 rise 1\n{servers}",
        public = config.ports["gateway"],
    )
}
