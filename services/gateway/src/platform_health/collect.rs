//! Asks all replicas of all modules for their reports.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use futures::future::join_all;
use jiff::Timestamp;
use service::{
    Front,
    health::{Report, cause},
};
use tokio::time::timeout;
use url::Url;

use super::model::{Module, PlatformHealth, Replica};
use crate::{NAME, config::Config};

/// Largest report, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// The modules and where their replicas are. Clones share the connections.
#[derive(Clone)]
pub(super) struct Modules {
    /// A host name with several addresses is that of several replicas.
    addresses: BTreeMap<String, Vec<Url>>,
    /// The report of this process, unless the gateways have addresses.
    own: Option<Front>,
    own_address: SocketAddr,
    http: reqwest::Client,
}

impl Modules {
    pub(super) fn new(config: &Config, front: Front, http: reqwest::Client) -> Self {
        let mut addresses: BTreeMap<_, _> =
            config.services.all().map(|(name, url)| (name.to_owned(), vec![url.clone()])).into();
        addresses.extend(config.modules.clone());
        let own = (!addresses.contains_key(NAME)).then_some(front);
        Self { addresses, own, own_address: config.metrics_listen, http }
    }

    /// The health of all modules, after `deadline` at the latest.
    #[expect(clippy::disallowed_methods, reason = "the time of the answer")]
    pub(super) async fn collect(&self, deadline: Duration) -> PlatformHealth {
        let checked_at = Timestamp::now();
        let others = join_all(self.addresses.iter().map(async |(name, urls)| {
            let replicas = join_all(urls.iter().map(|url| self.replicas(url, deadline))).await;
            Module::new(name.clone(), replicas.into_iter().flatten().collect())
        }));
        let own = async {
            let front = self.own.as_ref()?;
            let report = timeout(deadline, front.report()).await.map_err(|_| late(deadline));
            Some(Module::new(NAME.to_owned(), vec![Replica::new(self.own_address.to_string(), report)]))
        };
        let (mut modules, own) = tokio::join!(others, own);
        modules.extend(own);
        PlatformHealth::new(checked_at, modules)
    }

    /// The replicas behind a URL: one for each address of its host.
    async fn replicas(&self, url: &Url, deadline: Duration) -> Vec<Replica> {
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let authority = format!("{host}:{port}");
        let begun = tokio::time::Instant::now();
        let resolved = timeout(deadline, tokio::net::lookup_host(authority.clone())).await;
        let mut addresses: Vec<SocketAddr> = match resolved {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return vec![Replica::new(authority, Err(error.to_string()))],
            Err(_) => return vec![Replica::new(authority, Err(late(deadline)))],
        };
        addresses.sort();
        addresses.dedup();
        // a dual-stack host has two addresses of one replica
        if addresses.iter().any(SocketAddr::is_ipv4) {
            addresses.retain(SocketAddr::is_ipv4);
        }
        if addresses.is_empty() {
            return vec![Replica::new(authority, Err("the name has no address".to_owned()))];
        }
        let left = deadline.saturating_sub(begun.elapsed());
        join_all(addresses.into_iter().map(async |address| {
            let report = timeout(left, self.report(url.scheme(), address)).await;
            let report = report.unwrap_or_else(|_| Err(late(deadline)));
            Replica::new(address.to_string(), report)
        }))
        .await
    }

    async fn report(&self, scheme: &str, address: SocketAddr) -> Result<Report, String> {
        let url = format!("{scheme}://{address}/statusz");
        let failed = |error: reqwest::Error| cause(&error.without_url());
        let response = self.http.get(url).send().await.map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the replica answers {status}"));
        }
        let bytes = response.bytes().await.map_err(failed)?;
        if bytes.len() > LARGEST {
            return Err("the report is too large".to_owned());
        }
        // a replica of another version may report something else
        serde_json::from_slice(&bytes).map_err(|_| "the report cannot be read".to_owned())
    }
}

fn late(deadline: Duration) -> String {
    format!("no answer within {} ms", deadline.as_millis())
}
