//! Where running instances are: the gpu service's routes, cached for a second. Concurrent requests share one lookup.
//! While the gpu service does not answer, the last known route is used for a minute.

use std::{sync::Arc, time::Duration};

use clients::gpu::{Client, Route};
use moka::future::Cache;

const FRESH: Duration = Duration::from_secs(1);
/// Enough for a restart of the gpu service. Not longer: the address of a deleted pod may become another tenant's.
const WHILE_UNAVAILABLE: Duration = Duration::from_secs(60);
const HOSTS: u64 = 100_000;

pub(super) struct Routes {
    gpu: Client,
    fresh: Cache<String, Option<Arc<Route>>>,
    last: Cache<String, Arc<Route>>,
}

impl Routes {
    pub(super) fn new(gpu: Client) -> Self {
        Self {
            gpu,
            fresh: Cache::builder().max_capacity(HOSTS).time_to_live(FRESH).build(),
            last: Cache::builder().max_capacity(HOSTS).time_to_live(WHILE_UNAVAILABLE).build(),
        }
    }

    /// Returns the route of a host name's first label, or none if no instance has it.
    ///
    /// # Errors
    /// If the gpu service does not answer and no route is cached.
    pub(super) async fn find(&self, label: &str) -> Result<Option<Arc<Route>>, Arc<clients::Error>> {
        let route = self.fresh.try_get_with_by_ref(label, self.fetch(label)).await?;
        if route.as_ref().is_none_or(|route| route.address.is_none()) {
            // the instance may start at any moment, and must then be reachable at once
            self.forget(label).await;
        }
        Ok(route)
    }

    async fn fetch(&self, label: &str) -> Result<Option<Arc<Route>>, clients::Error> {
        match self.gpu.route(label).await {
            Ok(route) => {
                let route = Arc::new(route);
                self.last.insert(label.to_owned(), Arc::clone(&route)).await;
                Ok(Some(route))
            }
            Err(error) if error.is_not_found() => {
                self.last.invalidate(label).await;
                Ok(None)
            }
            Err(error) => match self.last.get(label).await {
                Some(route) => {
                    tracing::warn!(error = %api::ErrorChain(&error), "gpu service unavailable, using the last known route");
                    Ok(Some(route))
                }
                None => Err(error),
            },
        }
    }

    /// Makes the next lookup ask the gpu service, because the address did not accept a connection.
    pub(super) async fn forget(&self, label: &str) {
        self.fresh.invalidate(label).await;
    }
}
