//! What the gateway's slices and workers share.

use std::sync::Arc;

use activity::Tracker;
use auth::{AuthState, HasAuth, Verifier};
use cache::Cache;
use service::Process;

use crate::{NAME, config::Config, limits::RateLimits, proxy::Proxy, rest::credentials::Credentials};

/// The shared state. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) rate_limits: RateLimits,
    pub(crate) credentials: Credentials,
    pub(crate) proxy: Proxy,
    /// The instances with connections through this replica.
    pub(crate) activity: Tracker,
    auth: AuthState,
}

impl AppState {
    /// # Errors
    /// If a configured rate is zero or too high, or the address or key of the cache is not valid.
    pub(crate) fn new(config: Config, process: &Process, http: reqwest::Client) -> anyhow::Result<Self> {
        let cache = Cache::new(NAME, config.cache.as_ref(), &process.metrics)?;
        cache.report_to(&process.health);
        Ok(Self(Arc::new(Inner {
            rate_limits: RateLimits::new(&config.limits, &process.metrics)?,
            credentials: Credentials::new(&config, http.clone(), &cache),
            proxy: Proxy::new(process.shutdown.clone()),
            activity: Tracker::default(),
            auth: AuthState { verifier: Verifier::new(config.auth.clone(), http), callers: Arc::default() },
            config,
        })))
    }
}

impl std::ops::Deref for AppState {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl HasAuth for AppState {
    fn auth(&self) -> &AuthState {
        &self.0.auth
    }
}
