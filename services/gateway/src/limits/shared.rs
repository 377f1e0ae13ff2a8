//! Limits counted by a Valkey or Redis that all gateways share: one script for each request, which is atomic. While it does
//! not answer, each gateway counts by itself.

use std::time::Duration;

use anyhow::Context;
use cache::{Circuit, TIMEOUT};
use prometheus_client::metrics::counter::Counter;
use redis::{Client, Script, aio::ConnectionManager};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use service::Metrics;
use tokio::time::Instant;

use super::{Count, Verdict};

/// Where the limits of all gateways are counted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLimits {
    /// A Valkey or Redis, not a cluster: `redis://[:password@]host:port[/database]`.
    pub url: SecretString,
}

/// One limit after the other: the interval between requests in microseconds, and the burst. Returns the number of the
/// limit that decides, whether the request is refused, and what remains or the microseconds to wait. Keys expire when the
/// allowance is full again.
const SCRIPT: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local used, tightest, least = {}, 0, nil
for n, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * n - 1]), tonumber(ARGV[2 * n])
  local next = math.max(tonumber(redis.call('GET', key) or now), now) + interval
  local full = now + interval * burst
  if next > full then
    return {n - 1, 1, next - full}
  end
  local remaining = math.floor((full - next) / interval)
  if least == nil or remaining < least then
    tightest, least = n - 1, remaining
  end
  used[n] = next
end
for n, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', used[n]), 'PX', math.ceil((used[n] - now) / 1000) + 1)
end
return {tightest, 0, least}
";

/// Registers the metrics of the shared store.
pub(crate) fn register(metrics: &Metrics) -> Counter {
    let failures = Counter::default();
    metrics.register(|registry| {
        registry.register(
            "gateway_shared_limits_failures",
            "Requests that were counted by this process because the shared store did not answer",
            &[],
            failures.clone(),
        );
    });
    failures
}

pub(super) struct Shared {
    connection: ConnectionManager,
    script: Script,
    /// While it is open, this process counts by itself.
    circuit: Circuit,
    failures: Counter,
}

impl Shared {
    pub(super) fn new(config: &SharedLimits, metrics: &Metrics) -> anyhow::Result<Self> {
        let client = Client::open(config.url.expose_secret()).context("limits.shared.url is not valid")?;
        Ok(Self {
            connection: cache::connect(client)?,
            script: Script::new(SCRIPT),
            circuit: Circuit::default(),
            failures: register(metrics),
        })
    }

    /// Checks that the store answers.
    pub(super) async fn ping(&self) -> Result<(), String> {
        let mut connection = self.connection.clone();
        let pong: redis::RedisResult<()> = redis::cmd("PING").query_async(&mut connection).await;
        pong.map_err(|error| error.to_string())
    }

    /// Returns none if the store does not answer.
    pub(super) async fn check(&self, counts: &[Count<'_>]) -> Option<Verdict> {
        if !self.circuit.admits(Instant::now()) {
            self.failures.inc();
            return None;
        }
        let mut call = self.script.prepare_invoke();
        for Count { rule, key } in counts {
            let interval = u64::try_from(rule.interval.as_micros()).unwrap_or(u64::MAX);
            call.key(format!("atelier:limit:{}:{key:032x}", rule.name)).arg(interval).arg(rule.burst);
        }
        let mut connection = self.connection.clone();
        let answer = tokio::time::timeout(TIMEOUT, call.invoke_async::<(usize, u8, u64)>(&mut connection));
        let error: anyhow::Error = match answer.await {
            Ok(Ok((limit, is_refused, number))) => {
                if self.circuit.close() {
                    tracing::info!("the store of rate limits answers again");
                }
                return Some(if is_refused == 0 {
                    Verdict::Allowed { limit, remaining: u32::try_from(number).unwrap_or(u32::MAX) }
                } else {
                    Verdict::Refused { limit, wait: Duration::from_micros(number) }
                });
            }
            Ok(Err(error)) => error.into(),
            Err(late) => late.into(),
        };
        self.failures.inc();
        if self.circuit.open(Instant::now()) {
            tracing::warn!(%error, "the store of rate limits does not answer; this process counts by itself");
        }
        None
    }
}
