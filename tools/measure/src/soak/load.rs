//! Requests at a fixed rate.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use machine::{access::Access, client::Api};

use super::{instances::Open, seen::Seen};

/// Requests at a time.
const CLIENTS: usize = 32;
/// Tokens end after minutes; the designer signs in again before.
const SIGN_IN: Duration = Duration::from_secs(120);
/// The reads of a designer.
const PATHS: [&str; 5] =
    ["/v1/gpu-specs", "/v1/instances?limit=20", "/v1/me", "/v1/storages?limit=20", "/v1/stock?limit=20"];
/// The request that a page of the WebUI polls.
const PAGE: &str = "/sdapi/v1/progress";

pub struct Load {
    access: Access,
    seen: Arc<Seen>,
    instances: Arc<Open>,
    designer: Mutex<Api>,
}

impl Load {
    pub async fn new(access: &Access, seen: Arc<Seen>, instances: Arc<Open>) -> anyhow::Result<Self> {
        let designer = Api::new(&access.gateway)?.sign_in(&access.designer).await?;
        Ok(Self { access: access.clone(), seen, instances, designer: Mutex::new(designer) })
    }

    /// Signs the designer in again and again. Returns why that is not possible.
    pub async fn stay_signed_in(&self) -> anyhow::Error {
        loop {
            tokio::time::sleep(SIGN_IN).await;
            match self.designer().sign_in(&self.access.designer).await {
                Ok(designer) => *self.lock() = designer,
                Err(error) => break error,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Api> {
        self.designer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn designer(&self) -> Api {
        self.lock().clone()
    }

    /// Requests per second when each client sends its next request after an answer.
    pub async fn highest_rate(&self, time: Duration) -> f64 {
        self.seen.begin();
        let begun = Instant::now();
        let due = move || (begun.elapsed() < time).then(Instant::now);
        join_all((0..CLIENTS).map(|client| self.client(client, due))).await;
        #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
        let requests = self.seen.requests() as f64;
        requests / begun.elapsed().as_secs_f64()
    }

    /// Sends requests at this rate. Their latency counts from the time at which they were due.
    pub async fn send(&self, rate: f64, time: Duration) {
        let (begun, sent) = (Instant::now(), AtomicU64::new(0));
        let sent = &sent;
        let due = move || {
            #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
            let after = Duration::from_secs_f64(sent.fetch_add(1, Ordering::Relaxed) as f64 / rate);
            (after < time).then(|| begun + after)
        };
        join_all((0..CLIENTS).map(|client| self.client(client, due))).await;
    }

    /// Sends requests at this rate until `ended`.
    pub async fn send_until(&self, rate: f64, ended: &AtomicBool) {
        let (begun, sent) = (Instant::now(), AtomicU64::new(0));
        let sent = &sent;
        let due = move || {
            #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
            let after = Duration::from_secs_f64(sent.fetch_add(1, Ordering::Relaxed) as f64 / rate);
            (!ended.load(Ordering::Relaxed)).then(|| begun + after)
        };
        join_all((0..CLIENTS).map(|client| self.client(client, due))).await;
    }

    /// Sends a request at each time that `due` returns.
    async fn client(&self, number: usize, due: impl Fn() -> Option<Instant>) {
        let mut n = number;
        while let Some(due) = due() {
            tokio::time::sleep_until(due.into()).await;
            n += 1;
            let sent = match self.instances.any(n).filter(|_| n.is_multiple_of(3)) {
                Some(browser) => browser.get(PAGE).await.and_then(|(status, text)| {
                    anyhow::ensure!(status == 200, "{PAGE}: {status} {text}");
                    Ok(())
                }),
                None => self.designer().get(PATHS[n % PATHS.len()]).await.map(drop),
            };
            match sent {
                Ok(()) => self.seen.answered(due.elapsed()),
                Err(error) => self.seen.failed_with(&error),
            }
        }
    }
}
