//! Where running instances are, as the gpu service says: remembered for a second, asked once for all who wait,
//! and for a minute while the gpu service is away.

use std::{sync::Arc, time::Duration};

use clients::gpu;
use moka::future::Cache;

/// As the gpu service answered.
pub(super) type Known = gpu::Route;

const FRESH: Duration = Duration::from_secs(1);
/// Long enough for the gpu service to be restarted. Not longer: an address that a pod has let go may become
/// another tenant's.
const WHILE_AWAY: Duration = Duration::from_secs(60);
const HOSTS: u64 = 100_000;

pub(super) struct Routes {
    gpu: gpu::Client,
    fresh: Cache<String, Option<Arc<Known>>>,
    last: Cache<String, Arc<Known>>,
}

impl Routes {
    pub(super) fn new(gpu: gpu::Client) -> Self {
        Self {
            gpu,
            fresh: Cache::builder().max_capacity(HOSTS).time_to_live(FRESH).build(),
            last: Cache::builder().max_capacity(HOSTS).time_to_live(WHILE_AWAY).build(),
        }
    }

    /// The route of a host name's first label; none when there is no such instance.
    ///
    /// # Errors
    /// When the gpu service gave no answer, and none is remembered.
    pub(super) async fn find(&self, label: &str) -> Result<Option<Arc<Known>>, Arc<clients::Error>> {
        let found = self.fresh.try_get_with_by_ref(label, self.ask(label)).await?;
        if found.as_ref().is_none_or(|route| route.address.is_none()) {
            // it may be started at any moment, and is then to be reached at once
            self.forget(label).await;
        }
        Ok(found)
    }

    async fn ask(&self, label: &str) -> Result<Option<Arc<Known>>, clients::Error> {
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
                    tracing::warn!(%error, "the gpu service does not answer; going by what is remembered");
                    Ok(Some(route))
                }
                None => Err(error),
            },
        }
    }

    /// Asks anew next time: the address did not answer.
    pub(super) async fn forget(&self, label: &str) {
        self.fresh.invalidate(label).await;
    }
}
