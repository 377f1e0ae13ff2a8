//! Addresses of the replicas of all modules, and requests to them.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use service::health::cause;
use tokio::time::timeout;
use url::Url;

use crate::{NAME, services::Services};

/// Largest answer, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// A replica of a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Replica {
    pub(crate) module: String,
    scheme: String,
    pub(crate) address: SocketAddr,
}

/// A replica that has no address, or does not answer.
#[derive(Debug, Clone)]
pub(crate) struct Unreachable {
    pub(crate) module: String,
    /// An address, or a host name without one.
    pub(crate) address: String,
    /// Why, without secrets.
    pub(crate) error: String,
}

/// The modules and the addresses of their replicas. Clones share the connections.
#[derive(Clone)]
pub(crate) struct Modules {
    /// A host name with several addresses stands for several replicas.
    addresses: Arc<BTreeMap<String, Vec<Url>>>,
    http: reqwest::Client,
}

impl Modules {
    /// The services are at their own addresses, unless `modules` has others.
    pub(crate) fn new(
        services: &Services,
        modules: BTreeMap<String, Vec<Url>>,
        http: reqwest::Client,
    ) -> Self {
        let mut addresses: BTreeMap<_, _> =
            services.all().map(|(name, url)| (name.to_owned(), vec![url.clone()])).collect();
        addresses.extend(modules);
        Self { addresses: Arc::new(addresses), http }
    }

    /// The names of the modules, with that of the gateway.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let own = (!self.has_gateways()).then_some(NAME);
        self.addresses.keys().map(String::as_str).chain(own)
    }

    /// Whether the gateways have addresses. Otherwise only this one is known.
    pub(crate) fn has_gateways(&self) -> bool {
        self.addresses.contains_key(NAME)
    }

    /// The URLs of all modules, by name.
    pub(crate) fn urls(&self) -> impl Iterator<Item = (&str, &Url)> {
        self.addresses.iter().flat_map(|(name, urls)| urls.iter().map(|url| (name.as_str(), url)))
    }

    /// The replicas behind a URL: one for each address of its host.
    pub(crate) async fn replicas(
        &self,
        module: &str,
        url: &Url,
        deadline: Duration,
    ) -> Result<Vec<Replica>, Unreachable> {
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let authority = format!("{host}:{port}");
        let resolved = timeout(deadline, tokio::net::lookup_host(authority.clone())).await;
        let unreachable =
            |error| Unreachable { module: module.to_owned(), address: authority.clone(), error };
        let mut addresses: Vec<SocketAddr> = match resolved {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return Err(unreachable(error.to_string())),
            Err(_) => return Err(unreachable(late(deadline))),
        };
        addresses.sort();
        addresses.dedup();
        // a dual-stack host has two addresses for one replica
        if addresses.iter().any(SocketAddr::is_ipv4) {
            addresses.retain(SocketAddr::is_ipv4);
        }
        if addresses.is_empty() {
            return Err(unreachable("the name has no address".to_owned()));
        }
        let replica =
            |address| Replica { module: module.to_owned(), scheme: url.scheme().to_owned(), address };
        Ok(addresses.into_iter().map(replica).collect())
    }

    /// Returns a replica's response to a GET request, as JSON.
    ///
    /// # Errors
    /// Why there is no such response, without secrets.
    pub(crate) async fn get<T: serde::de::DeserializeOwned>(
        &self,
        replica: &Replica,
        path: &str,
        query: &impl serde::Serialize,
        deadline: Duration,
    ) -> Result<T, String> {
        let answer = async {
            let url = format!("{}://{}{path}", replica.scheme, replica.address);
            let failed = |error: reqwest::Error| cause(&error.without_url());
            let response = self.http.get(url).query(query).send().await.map_err(failed)?;
            let status = response.status();
            if !status.is_success() {
                return Err(format!("the replica answers {status}"));
            }
            let bytes = response.bytes().await.map_err(failed)?;
            if bytes.len() > LARGEST {
                return Err("the answer is too large".to_owned());
            }
            // a replica of another version may answer something else
            serde_json::from_slice(&bytes).map_err(|_| "the answer cannot be read".to_owned())
        };
        timeout(deadline, answer).await.unwrap_or_else(|_| Err(late(deadline)))
    }
}

/// The error of a call that takes too long.
pub(crate) fn late(deadline: Duration) -> String {
    format!("no answer within {} ms", deadline.as_millis())
}
