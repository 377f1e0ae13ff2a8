//! `atelier.toml` in the root of the repository, which is optional: ports and folders of `up`. The environment overrides
//! it: `ATELIER_PORTS__GATEWAY` is `ports.gateway`.

use std::{
    collections::HashSet,
    io::ErrorKind,
    net::TcpListener,
    path::{Path, PathBuf},
};

use anyhow::bail;
use figment::{
    Figment,
    providers::{Env, Format, Toml},
};
use serde::Deserialize;

use crate::process;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Folder of all data, relative to the root of the repository.
    pub(crate) data: PathBuf,
    /// The parent domain of the instances' host names.
    pub(crate) apps_domain: String,
    /// Where all services export their traces to (OTLP over gRPC), for example `http://127.0.0.1:4317`.
    pub(crate) otlp: Option<String>,
    pub(crate) ports: Ports,
}

/// The ports on 127.0.0.1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ports {
    pub(crate) gateway: u16,
    pub(crate) stock: u16,
    pub(crate) gpu: u16,
    pub(crate) storage: u16,
    pub(crate) jobs: u16,
    /// For the workers of jobs.
    pub(crate) jobs_workers: u16,
    /// For the message broker's questions about users.
    pub(crate) jobs_broker: u16,
    /// The message broker (AMQP).
    pub(crate) broker: u16,
    /// The engine of a registered worker of jobs.
    pub(crate) engine: u16,
    pub(crate) identity: u16,
    pub(crate) operator: u16,
    pub(crate) cluster: u16,
    pub(crate) object_store: u16,
    pub(crate) postgres: u16,
    pub(crate) gateway_metrics: u16,
    /// SSH to instances.
    pub(crate) ssh: u16,
    /// Of the second datacenter, with `up --datacenters 2`.
    pub(crate) cluster_2: u16,
    pub(crate) operator_2: u16,
    /// Of the gateways behind the public port, with `up --gateways 2`.
    pub(crate) gateway_1: u16,
    pub(crate) gateway_2: u16,
    pub(crate) gateway_2_metrics: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self { data: ".atelier".into(), apps_domain: "localhost".into(), otlp: None, ports: Ports::default() }
    }
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            gateway: 8080,
            stock: 8081,
            gpu: 8082,
            storage: 8083,
            jobs: 8089,
            jobs_workers: 8097,
            engine: 8098,
            broker: 8099,
            jobs_broker: 8100,
            identity: 8084,
            operator: 8085,
            cluster: 8086,
            object_store: 8087,
            postgres: 8088,
            gateway_metrics: 8090,
            ssh: 8093,
            cluster_2: 8091,
            operator_2: 8092,
            gateway_1: 8094,
            gateway_2: 8095,
            gateway_2_metrics: 8096,
        }
    }
}

impl Ports {
    /// The ports in use with these numbers of datacenters and gateways.
    fn all(&self, datacenters: usize, gateways: usize) -> Vec<(&'static str, u16)> {
        let second = [("cluster_2", self.cluster_2), ("operator_2", self.operator_2)];
        let behind = [
            ("gateway_1", self.gateway_1),
            ("gateway_2", self.gateway_2),
            ("gateway_2_metrics", self.gateway_2_metrics),
        ];
        let mut all = vec![
            ("gateway", self.gateway),
            ("stock", self.stock),
            ("gpu", self.gpu),
            ("storage", self.storage),
            ("jobs", self.jobs),
            ("jobs_workers", self.jobs_workers),
            ("jobs_broker", self.jobs_broker),
            ("broker", self.broker),
            ("engine", self.engine),
            ("identity", self.identity),
            ("operator", self.operator),
            ("cluster", self.cluster),
            ("object_store", self.object_store),
            ("postgres", self.postgres),
            ("gateway_metrics", self.gateway_metrics),
            ("ssh", self.ssh),
        ];
        all.extend(second.into_iter().filter(|_| datacenters > 1));
        all.extend(behind.into_iter().filter(|_| gateways > 1));
        all
    }

    /// Variables that configure free ports.
    pub(crate) fn free_variables() -> anyhow::Result<Vec<(String, String)>> {
        let mut taken = HashSet::new();
        let mut variables = Vec::new();
        for (name, _) in Self::default().all(2, 2) {
            let mut port = process::free_port()?;
            while !taken.insert(port) {
                port = process::free_port()?;
            }
            variables.push((format!("ATELIER_PORTS__{}", name.to_uppercase()), port.to_string()));
        }
        Ok(variables)
    }

    /// # Errors
    /// If a port is in use or configured twice. The text proposes a free one.
    pub(crate) fn check_free(&self, file: &Path, datacenters: usize, gateways: usize) -> anyhow::Result<()> {
        let mut seen: Vec<(&str, u16)> = Vec::new();
        for (name, port) in self.all(datacenters, gateways) {
            let another = process::free_port()?;
            let another = format!("set another port in {}:\n\n[ports]\n{name} = {another}\n", file.display());
            if let Some((other, _)) = seen.iter().find(|(_, taken)| *taken == port) {
                bail!("ports.{other} and ports.{name} are both {port}; {another}");
            }
            seen.push((name, port));
            match TcpListener::bind(("127.0.0.1", port)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    bail!("port {port} (ports.{name}) is in use; stop the program that uses it, or {another}")
                }
                Err(error) => bail!("port {port} (ports.{name}) cannot be used ({error}); {another}"),
            }
        }
        Ok(())
    }
}

impl Config {
    /// Reads the file, if it exists. Also returns its path.
    pub(crate) fn load() -> anyhow::Result<(Self, PathBuf)> {
        let (sources, file) = Self::sources();
        Ok((sources.extract()?, file))
    }

    /// The data folder, for clients of a running platform: other settings, and variables of other programs that begin
    /// like ours, do not concern them.
    pub(crate) fn data_of_running() -> anyhow::Result<PathBuf> {
        data_of(&Self::sources().0)
    }

    fn sources() -> (Figment, PathBuf) {
        let file = xtask::root().join("atelier.toml");
        let mut sources = Figment::new();
        if file.exists() {
            sources = sources.merge(Toml::file_exact(&file));
        }
        (sources.merge(Env::prefixed("ATELIER_").split("__")), file)
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        xtask::root().join(&self.data)
    }
}

fn data_of(sources: &Figment) -> anyhow::Result<PathBuf> {
    let data = match sources.find_value("data") {
        Ok(_) => sources.extract_inner("data")?,
        Err(_) => Config::default().data,
    };
    Ok(xtask::root().join(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ports: &Ports) -> String {
        ports.check_free(Path::new("atelier.toml"), 2, 2).unwrap_err().to_string()
    }

    #[test]
    fn a_port_in_use_is_named_and_another_proposed() {
        // bound here or by another program
        let _taken = TcpListener::bind(("127.0.0.1", u16::MAX));
        let error = refusal(&Ports { gateway: u16::MAX, ..Ports::default() });
        assert!(error.starts_with("port 65535 (ports.gateway) is in use"), "{error}");
        let proposed = error.split("[ports]\ngateway = ").nth(1).unwrap();
        assert!(TcpListener::bind(("127.0.0.1", proposed.trim().parse().unwrap())).is_ok(), "{error}");
    }

    #[test]
    fn a_client_ignores_the_settings_of_others() {
        let foreign = || Figment::new().merge(("token", "secret")).merge(("url.of.console", "http://x"));
        assert!(foreign().extract::<Config>().is_err());
        assert_eq!(data_of(&foreign()).unwrap(), Config::default().data());
        assert_eq!(data_of(&foreign().merge(("data", "/elsewhere"))).unwrap(), Path::new("/elsewhere"));
    }

    #[test]
    fn a_port_configured_twice_is_named() {
        let port = process::free_port().unwrap();
        let error = refusal(&Ports { gateway: port, stock: port, ..Ports::default() });
        assert!(error.starts_with("ports.gateway and ports.stock are both"), "{error}");
    }
}
