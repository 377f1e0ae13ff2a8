//! Requests at a fixed rate, and what came of them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::try_join_all;

use super::instances::Open;
use crate::demo::{Access, client::Api};

/// Requests at a time.
const CLIENTS: usize = 32;
/// Tokens end after minutes; each client signs in again before.
const SIGN_IN: Duration = Duration::from_secs(120);
/// What a designer reads.
const PATHS: [&str; 5] =
    ["/v1/gpu-specs", "/v1/instances?limit=20", "/v1/me", "/v1/storages?limit=20", "/v1/usage?group_by=day"];
/// What a page of the WebUI asks for.
const PAGE: &str = "/sdapi/v1/progress";

/// What came of the requests.
#[derive(Default)]
pub(super) struct Seen(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    requests: u64,
    failed: u64,
    /// Reason and number.
    failures: BTreeMap<String, u64>,
    /// Requests by milliseconds.
    took: BTreeMap<u64, u64>,
}

impl Seen {
    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was before the measurement.
    pub(super) fn begin(&self) {
        *self.lock() = Counts::default();
    }

    pub(super) fn answered(&self, took: Duration) {
        let mut counts = self.lock();
        counts.requests += 1;
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        *counts.took.entry(milliseconds).or_default() += 1;
    }

    pub(super) fn failed_with(&self, reason: &anyhow::Error) {
        let mut counts = self.lock();
        counts.requests += 1;
        counts.failed += 1;
        *counts.failures.entry(format!("{reason:#}")).or_default() += 1;
    }

    pub(super) fn requests(&self) -> u64 {
        self.lock().requests
    }

    pub(super) fn failed(&self) -> u64 {
        self.lock().failed
    }

    pub(super) fn failures(&self) -> String {
        let lines = |(reason, count): (&String, &u64)| format!("{count} × {reason}\n");
        self.lock().failures.iter().map(lines).collect()
    }

    /// The milliseconds in which this part of the requests was answered.
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    pub(super) fn at(&self, part: f64) -> f64 {
        let counts = self.lock();
        let all: u64 = counts.took.values().sum();
        let mut seen = 0;
        for (milliseconds, count) in &counts.took {
            seen += count;
            if seen as f64 >= all as f64 * part {
                return *milliseconds as f64;
            }
        }
        0.0
    }
}

pub(super) struct Load {
    access: Access,
    seen: Arc<Seen>,
    instances: Arc<Open>,
}

impl Load {
    pub(super) fn new(access: &Access, seen: Arc<Seen>, instances: Arc<Open>) -> Self {
        Self { access: access.clone(), seen, instances }
    }

    /// Requests per second when each client sends its next request after an answer.
    pub(super) async fn highest_rate(&self, time: Duration) -> anyhow::Result<f64> {
        self.seen.begin();
        let begun = Instant::now();
        try_join_all(
            (0..CLIENTS)
                .map(|client| self.client(client, move || (begun.elapsed() < time).then(Instant::now))),
        )
        .await?;
        #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
        let requests = self.seen.requests() as f64;
        Ok(requests / begun.elapsed().as_secs_f64())
    }

    /// Sends requests at this rate. Their latency counts from the time at which they were due.
    pub(super) async fn send(&self, rate: f64, time: Duration) -> anyhow::Result<()> {
        let (begun, sent) = (Instant::now(), AtomicU64::new(0));
        let sent = &sent;
        let due = move || {
            #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
            let after = Duration::from_secs_f64(sent.fetch_add(1, Ordering::Relaxed) as f64 / rate);
            (after < time).then(|| begun + after)
        };
        try_join_all((0..CLIENTS).map(|client| self.client(client, due))).await.map(drop)
    }

    /// Sends a request at each time that `due` returns.
    async fn client(&self, number: usize, due: impl Fn() -> Option<Instant>) -> anyhow::Result<()> {
        let visitor = Api::new(&self.access.gateway)?;
        let mut designer = visitor.sign_in(&self.access.designer).await?;
        let mut signed_in = Instant::now();
        let mut n = number;
        while let Some(due) = due() {
            tokio::time::sleep_until(due.into()).await;
            if signed_in.elapsed() > SIGN_IN {
                designer = visitor.sign_in(&self.access.designer).await?;
                signed_in = Instant::now();
            }
            n += 1;
            let sent = match self.instances.any(n).filter(|_| n % 3 == 0) {
                Some(browser) => browser.get(PAGE).await.and_then(|(status, text)| {
                    anyhow::ensure!(status == 200, "{PAGE}: {status} {text}");
                    Ok(())
                }),
                None => designer.get(PATHS[n % PATHS.len()]).await.map(drop),
            };
            match sent {
                Ok(()) => self.seen.answered(due.elapsed()),
                Err(error) => self.seen.failed_with(&error),
            }
        }
        Ok(())
    }
}
