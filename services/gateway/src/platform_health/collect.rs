//! Asks all replicas of all modules for their reports.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use futures::future::join_all;
use jiff::Timestamp;
use service::{Front, health::Report};
use tokio::time::{Instant, timeout};
use url::Url;

use super::model::{Module, PlatformHealth, Replica};
use crate::{
    NAME,
    modules::{Modules, late},
};

/// Collects reports. Clones share the connections.
#[derive(Clone)]
pub(super) struct Collector {
    pub(super) modules: Modules,
    /// This process, which is the only gateway unless the gateways have addresses.
    pub(super) own: Front,
    pub(super) own_address: SocketAddr,
}

impl Collector {
    /// The health of all modules, after `deadline` at the latest.
    #[expect(clippy::disallowed_methods, reason = "the time of the answer")]
    pub(super) async fn collect(&self, deadline: Duration) -> PlatformHealth {
        let checked_at = Timestamp::now();
        let others = join_all(
            self.modules
                .urls()
                .map(async |(name, url)| (name.to_owned(), self.replicas(name, url, deadline).await)),
        );
        let own = async {
            if self.modules.has_gateways() {
                return None;
            }
            let report = timeout(deadline, self.own.report()).await.map_err(|_| late(deadline));
            Some(Module::new(NAME.to_owned(), vec![Replica::new(self.own_address.to_string(), report)]))
        };
        let (others, own) = tokio::join!(others, own);
        let mut replicas = BTreeMap::<_, Vec<_>>::new();
        for (name, found) in others {
            replicas.entry(name).or_default().extend(found);
        }
        let mut modules: Vec<_> =
            replicas.into_iter().map(|(name, replicas)| Module::new(name, replicas)).collect();
        modules.extend(own);
        PlatformHealth::new(checked_at, modules)
    }

    /// The replicas behind a URL, with their reports.
    async fn replicas(&self, module: &str, url: &Url, deadline: Duration) -> Vec<Replica> {
        let begun = Instant::now();
        let replicas = match self.modules.replicas(module, url, deadline).await {
            Ok(replicas) => replicas,
            Err(unreachable) => return vec![Replica::new(unreachable.address, Err(unreachable.error))],
        };
        let left = deadline.saturating_sub(begun.elapsed());
        join_all(replicas.into_iter().map(async |replica| {
            let report = self.modules.get::<Report>(&replica, "/statusz", &(), left).await;
            // as long as the whole request took
            let report = report.map_err(|error| if error == late(left) { late(deadline) } else { error });
            Replica::new(replica.address.to_string(), report)
        }))
        .await
    }
}
