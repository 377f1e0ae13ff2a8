//! `atelier.toml` in the root of the repository, which is optional: ports and folders of `up`. The environment overrides
//! it: `ATELIER_PORTS__GATEWAY` is `ports.gateway`.

use std::{
    collections::{BTreeMap, HashSet},
    io::ErrorKind,
    net::TcpListener,
    ops::{Index, IndexMut},
    path::{Path, PathBuf},
};

use anyhow::bail;
use figment::{
    Figment,
    providers::{Env, Format, Toml},
};
use serde::Deserialize;

use crate::process;

/// The database of a platform. Each service has a schema in it.
pub const DATABASE: &str = "atelier";

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Folder of all data, relative to the root of the repository.
    pub data: PathBuf,
    /// The parent domain of the instances' host names.
    pub apps_domain: String,
    /// Where all services export their traces to (OTLP over gRPC), for example `http://127.0.0.1:4317`.
    pub otlp: Option<String>,
    pub ports: Ports,
}

/// The ports on 127.0.0.1, by name: those of the list of services, and [`OTHER_PORTS`].
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<String, u16>")]
pub struct Ports(Vec<(&'static str, u16)>);

const OTHER_PORTS: [(&str, u16); 14] = [
    // for the workers of jobs
    ("jobs_workers", 8097),
    // for the message broker's questions about users
    ("jobs_broker", 8100),
    // the message broker (AMQP)
    ("broker", 8099),
    // the engine of a registered worker of jobs
    ("engine", 8098),
    ("cluster", 8086),
    ("object_store", 8087),
    ("postgres", 8088),
    ("gateway_metrics", 8090),
    // SSH to instances
    ("ssh", 8093),
    // of the second datacenter, with `up --datacenters 2`
    ("cluster_2", 8091),
    ("operator_2", 8092),
    // of the gateways behind the public port, with `up --gateways 2`
    ("gateway_1", 8094),
    ("gateway_2", 8095),
    ("gateway_2_metrics", 8096),
];

impl Default for Config {
    fn default() -> Self {
        Self { data: ".atelier".into(), apps_domain: "localhost".into(), otlp: None, ports: Ports::default() }
    }
}

impl Default for Ports {
    fn default() -> Self {
        let services = platform::services().iter().map(|service| (service.name.as_str(), service.port));
        Self(services.chain(OTHER_PORTS).collect())
    }
}

impl TryFrom<BTreeMap<String, u16>> for Ports {
    type Error = String;

    fn try_from(configured: BTreeMap<String, u16>) -> Result<Self, String> {
        let mut ports = Self::default();
        for (name, port) in configured {
            let known = ports.0.iter_mut().find(|(known, _)| *known == name);
            known.ok_or_else(|| format!("no port is called {name:?}"))?.1 = port;
        }
        Ok(ports)
    }
}

/// Panics if no port has this name.
impl Index<&str> for Ports {
    type Output = u16;

    fn index(&self, name: &str) -> &u16 {
        let known = self.0.iter().find(|(known, _)| *known == name);
        known.map(|(_, port)| port).unwrap_or_else(|| panic!("no port is called {name:?}"))
    }
}

impl IndexMut<&str> for Ports {
    fn index_mut(&mut self, name: &str) -> &mut u16 {
        let known = self.0.iter_mut().find(|(known, _)| *known == name);
        known.map(|(_, port)| port).unwrap_or_else(|| panic!("no port is called {name:?}"))
    }
}

impl Ports {
    /// The ports in use with these numbers of datacenters and gateways.
    fn all(&self, datacenters: usize, gateways: usize) -> impl Iterator<Item = (&'static str, u16)> {
        self.0.iter().copied().filter(move |(name, _)| match *name {
            "cluster_2" | "operator_2" => datacenters > 1,
            "gateway_1" | "gateway_2" | "gateway_2_metrics" => gateways > 1,
            _ => true,
        })
    }

    /// Variables that configure free ports.
    pub fn free_variables() -> anyhow::Result<Vec<(String, String)>> {
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
    pub fn check_free(&self, file: &Path, datacenters: usize, gateways: usize) -> anyhow::Result<()> {
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
    pub fn load() -> anyhow::Result<(Self, PathBuf)> {
        let (sources, file) = Self::sources();
        Ok((sources.extract()?, file))
    }

    /// The data folder, for clients of a running platform: other settings, and variables of other programs that begin
    /// like ours, do not concern them.
    pub fn data_of_running() -> anyhow::Result<PathBuf> {
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
    pub fn data(&self) -> PathBuf {
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

    fn ports(configured: &[(&str, u16)]) -> Result<Ports, String> {
        configured
            .iter()
            .map(|(name, port)| ((*name).to_owned(), *port))
            .collect::<BTreeMap<_, _>>()
            .try_into()
    }

    #[test]
    fn a_port_in_use_is_named_and_another_proposed() {
        // bound here or by another program
        let _taken = TcpListener::bind(("127.0.0.1", u16::MAX));
        let error = refusal(&ports(&[("gateway", u16::MAX)]).unwrap());
        assert!(error.starts_with("port 65535 (ports.gateway) is in use"), "{error}");
        let proposed = error.split("[ports]\ngateway = ").nth(1).unwrap();
        assert!(TcpListener::bind(("127.0.0.1", proposed.trim().parse().unwrap())).is_ok(), "{error}");
    }

    #[test]
    fn a_port_that_is_not_configured_is_that_of_the_list() {
        let ports = ports(&[("stock", 1)]).unwrap();
        assert_eq!((ports["stock"], ports["gpu"], ports["ssh"]), (1, 8082, 8093));
        let sources = Figment::new().merge(("ports.stok", 1));
        let error = sources.extract::<Config>().unwrap_err().to_string();
        assert!(error.contains("no port is called \"stok\""), "{error}");
        let mut all: Vec<_> = Ports::default().all(2, 2).map(|(_, port)| port).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
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
        let error = refusal(&ports(&[("gateway", port), ("stock", port)]).unwrap());
        assert!(error.starts_with("ports.gateway and ports.stock are both"), "{error}");
    }
}
