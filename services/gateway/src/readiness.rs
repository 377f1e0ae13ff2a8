//! Whether the gateway can serve: while one service is unavailable, requests to the others succeed. It is not
//! ready if it reaches none of them, as other gateways may.

use std::time::Duration;

use futures::future::join_all;
use moka::future::Cache;
use url::Url;

use crate::services::Services;

/// Time for a service to answer `/readyz`.
const TIMEOUT: Duration = Duration::from_millis(800);
/// How long an answer is reused, however often the gateway is asked.
const REUSE: Duration = Duration::from_secs(1);

/// The readiness of all services.
pub(crate) struct Readiness {
    http: reqwest::Client,
    services: Vec<(&'static str, Url)>,
    checked: Cache<(), Result<(), String>>,
}

impl Readiness {
    pub(crate) fn new(services: &Services, http: reqwest::Client) -> Self {
        Self {
            http,
            services: services.all().map(|(name, url)| (name, url.clone())).collect(),
            checked: Cache::builder().max_capacity(1).time_to_live(REUSE).build(),
        }
    }

    /// # Errors
    /// Names the services, if none of them is ready.
    pub(crate) async fn check(&self) -> Result<(), String> {
        self.checked.get_with((), self.check_services()).await
    }

    async fn check_services(&self) -> Result<(), String> {
        let checks = self.services.iter().map(|(name, url)| async move {
            let url = format!("{}/readyz", url.as_str().trim_end_matches('/'));
            let response = self.http.get(url).timeout(TIMEOUT).send().await;
            let ready = response.is_ok_and(|response| response.status().is_success());
            (!ready).then_some(*name)
        });
        let not_ready: Vec<_> = join_all(checks).await.into_iter().flatten().collect();
        if not_ready.len() < self.services.len() {
            return Ok(());
        }
        Err(format!("waiting for {}", not_ready.join(", ")))
    }
}
