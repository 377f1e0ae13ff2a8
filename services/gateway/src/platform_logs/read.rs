//! Reads the lines of all replicas, and merges them.

use std::{net::SocketAddr, time::Duration};

use futures::future::join_all;
use service::recent_logs::{LogPage, LogQuery, RecentLogs};

use super::{PlatformLogLine, PlatformLogs, SilentReplica};
use crate::{
    NAME,
    modules::{Modules, Replica, Unreachable},
};

/// Time for a replica to answer.
const DEADLINE: Duration = Duration::from_millis(1500);

/// Reads from all replicas. Clones share the connections.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) modules: Modules,
    pub(super) own_address: SocketAddr,
}

/// The source of lines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// This process, if the gateways have no addresses.
    Own,
    Replica(Replica),
}

impl From<Unreachable> for SilentReplica {
    fn from(unreachable: Unreachable) -> Self {
        Self { module: unreachable.module, replica: unreachable.address, error: unreachable.error }
    }
}

impl Reader {
    /// The processes of a module, or of all.
    pub(super) async fn sources(&self, module: Option<&str>) -> (Vec<Source>, Vec<SilentReplica>) {
        let wanted = |name: &str| module.is_none_or(|module| module == name);
        let urls = self.modules.urls().filter(|(name, _)| wanted(name));
        let found =
            join_all(urls.map(async |(name, url)| self.modules.replicas(name, url, DEADLINE).await)).await;
        let (mut sources, mut silent) = (Vec::new(), Vec::new());
        if wanted(NAME) && !self.modules.has_gateways() {
            sources.push(Source::Own);
        }
        for found in found {
            match found {
                Ok(replicas) => sources.extend(replicas.into_iter().map(Source::Replica)),
                Err(unreachable) => silent.push(unreachable.into()),
            }
        }
        (sources, silent)
    }

    /// A page of a process. `deadline` is longer than it waits for new lines.
    pub(super) async fn page(
        &self,
        source: &Source,
        query: &LogQuery,
        deadline: Duration,
    ) -> Result<LogPage, SilentReplica> {
        match source {
            Source::Own => Ok(RecentLogs::of_process().read(query).await),
            Source::Replica(replica) => {
                self.modules.get(replica, "/logz", query, deadline).await.map_err(|error| SilentReplica {
                    module: replica.module.clone(),
                    replica: replica.address.to_string(),
                    error,
                })
            }
        }
    }

    /// The lines of a page, with their source.
    pub(super) fn named(&self, source: &Source, page: LogPage) -> Vec<PlatformLogLine> {
        let (module, replica) = match source {
            Source::Own => (NAME, self.own_address),
            Source::Replica(replica) => (replica.module.as_str(), replica.address),
        };
        let named = |line| PlatformLogLine { module: module.to_owned(), replica: replica.to_string(), line };
        page.lines.into_iter().map(named).collect()
    }

    /// The newest lines of all processes together.
    pub(super) async fn newest(&self, module: Option<&str>, query: &LogQuery) -> PlatformLogs {
        let (sources, mut unreachable) = self.sources(module).await;
        let pages = join_all(sources.iter().map(|source| self.page(source, query, DEADLINE))).await;
        let mut items = Vec::new();
        for (source, page) in sources.iter().zip(pages) {
            match page {
                Ok(page) => items.extend(self.named(source, page)),
                Err(silent) => unreachable.push(silent),
            }
        }
        items.sort_by_key(|item| std::cmp::Reverse(item.line.time));
        items.truncate(query.limit);
        PlatformLogs { items, unreachable }
    }
}
