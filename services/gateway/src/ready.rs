//! Whether the platform can serve: all of its services say so.

use std::time::Duration;

use futures::future::join_all;
use moka::future::Cache;
use url::Url;

use crate::config::Services;

/// Asks the services, at most once in a second whoever asks the gateway.
pub(crate) struct Ready {
    http: reqwest::Client,
    services: [(&'static str, Url); 4],
    answer: Cache<(), Result<(), String>>,
}

impl Ready {
    pub(crate) fn new(services: &Services, http: reqwest::Client) -> Self {
        Self {
            http,
            services: [
                ("identity", services.identity.clone()),
                ("stock", services.stock.clone()),
                ("gpu", services.gpu.clone()),
                ("storage", services.storage.clone()),
            ],
            answer: Cache::builder().max_capacity(1).time_to_live(Duration::from_secs(1)).build(),
        }
    }

    /// # Errors
    /// Names the services that are not ready.
    pub(crate) async fn check(&self) -> Result<(), String> {
        self.answer.get_with((), self.ask()).await
    }

    async fn ask(&self) -> Result<(), String> {
        let asked = self.services.iter().map(|(name, url)| async move {
            let url = format!("{}/readyz", url.as_str().trim_end_matches('/'));
            let answer = self.http.get(url).timeout(Duration::from_millis(800)).send().await;
            (*name, answer.is_ok_and(|answer| answer.status().is_success()))
        });
        let waits: Vec<_> =
            join_all(asked).await.into_iter().filter(|(_, ready)| !ready).map(|(name, _)| name).collect();
        if waits.is_empty() { Ok(()) } else { Err(format!("waiting for {}", waits.join(", "))) }
    }
}
