//! Rate limits of callers: the generic cell rate algorithm (GCRA), counted by this process ([`local`]), or by a Valkey
//! or Redis that all gateways share ([`shared`]).

mod config;
mod local;
mod shared;

use std::{
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use anyhow::Context;
use api::{Problem, ProblemType};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use ids::{ApiKeyId, TenantId, UserId};
use service::Metrics;

pub(crate) use self::shared::register;
pub use self::{config::Limits, shared::SharedLimits};
use self::{local::Local, shared::Shared};
use crate::refusal::Refusal;

/// Lookups of unknown host names per client address.
const LOOKUPS_PER_MINUTE: u32 = 60;
const LOOKUP_BURST: u32 = 60;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The rate limits of all callers.
pub(crate) struct RateLimits {
    addresses: Rule,
    tenants: Rule,
    users: Rule,
    sign_ins: Rule,
    lookups: Rule,
    local: Local,
    shared: Option<Shared>,
}

impl RateLimits {
    /// # Errors
    /// If a configured rate is zero or too high, or the address of the shared store is not valid.
    pub(crate) fn new(limits: &Limits, metrics: &Metrics) -> anyhow::Result<Self> {
        let shared = limits.shared.as_ref().map(|shared| Shared::new(shared, metrics)).transpose()?;
        Ok(Self {
            addresses: Rule::new(
                "address",
                limits.address_request_burst,
                limits.address_requests_per_second,
                SECOND,
            )?,
            tenants: Rule::new(
                "tenant",
                limits.tenant_request_burst,
                limits.tenant_requests_per_second,
                SECOND,
            )?,
            users: Rule::new("user", limits.request_burst, limits.requests_per_second, SECOND)?,
            sign_ins: Rule::new("sign-in", limits.sign_in_burst, limits.sign_ins_per_minute, MINUTE)?,
            lookups: Rule::new("lookup", LOOKUP_BURST, LOOKUPS_PER_MINUTE, MINUTE)?,
            local: Local::default(),
            shared,
        })
    }

    /// Whether all gateways count together.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Checks that the shared store answers, if there is one.
    ///
    /// # Errors
    /// Says why it does not.
    pub(crate) async fn ping(&self) -> Result<(), String> {
        match &self.shared {
            Some(shared) => shared.ping().await,
            None => Ok(()),
        }
    }

    /// Counts one request of a signed-in user.
    ///
    /// # Errors
    /// If the address, the tenant or the user has sent too many.
    pub(crate) async fn check_request(
        &self,
        peer: IpAddr,
        tenant: Option<TenantId>,
        user: UserId,
    ) -> Result<Remaining, Exceeded> {
        let address = Count { rule: &self.addresses, key: number(peer) };
        let user = Count { rule: &self.users, key: user.uuid().as_u128() };
        match tenant {
            Some(tenant) => {
                let tenant = Count { rule: &self.tenants, key: tenant.uuid().as_u128() };
                self.check(&[address, tenant, user]).await
            }
            None => self.check(&[address, user]).await,
        }
    }

    /// Counts one request of a caller that is not signed in.
    ///
    /// # Errors
    /// If the address has sent too many.
    pub(crate) async fn check_address(&self, peer: IpAddr) -> Result<Remaining, Exceeded> {
        self.check(&[Count { rule: &self.addresses, key: number(peer) }]).await
    }

    /// Counts one attempt to sign in, refresh a session or redeem a ticket from this address.
    ///
    /// # Errors
    /// If there were too many.
    pub(crate) async fn check_sign_in(&self, peer: IpAddr) -> Result<Remaining, Exceeded> {
        self.check(&[Count { rule: &self.sign_ins, key: number(peer) }]).await
    }

    /// Counts one lookup of a host name that is not known, by a client that has opened nothing.
    ///
    /// # Errors
    /// If there were too many.
    pub(crate) async fn check_lookup(&self, peer: IpAddr) -> Result<Remaining, Exceeded> {
        self.check(&[Count { rule: &self.lookups, key: number(peer) }]).await
    }

    /// Counts one request with an API key that has a limit of its own.
    ///
    /// # Errors
    /// If there were too many.
    pub(crate) async fn check_api_keys(
        &self,
        limits: impl Iterator<Item = (ApiKeyId, u32)>,
    ) -> Result<Remaining, Exceeded> {
        let rules: Vec<_> = limits
            .map(|(api_key, rate)| {
                let rate = rate.max(1);
                (Rule::of("api-key", rate, SECOND / rate), api_key.uuid().as_u128())
            })
            .collect();
        let counts: Vec<_> = rules.iter().map(|(rule, key)| Count { rule, key: *key }).collect();
        self.check(&counts).await
    }

    /// Forgets callers whose allowance is full again.
    pub(crate) fn forget_idle(&self) {
        self.local.forget_idle();
    }

    /// Counts one request against all of these limits, or against none if one is exceeded.
    async fn check(&self, counts: &[Count<'_>]) -> Result<Remaining, Exceeded> {
        let shared = match &self.shared {
            Some(shared) => Box::pin(shared.check(counts)).await,
            None => None,
        };
        match shared.unwrap_or_else(|| self.local.check(counts)) {
            Verdict::Allowed { limit, remaining } => Ok(Remaining::new(counts[limit].rule, remaining, None)),
            Verdict::Refused { limit, wait } => {
                let retry_after = wait.as_secs() + 1;
                let remaining = Remaining::new(counts[limit].rule, 0, Some(retry_after));
                Err(Exceeded { remaining, retry_after })
            }
        }
    }
}

/// A limit: at most `burst` requests at once, and one in each `interval` in the long run.
struct Rule {
    name: &'static str,
    burst: u32,
    interval: Duration,
    /// `RateLimit-Policy`.
    policy: HeaderValue,
}

impl Rule {
    /// At most `burst` requests at once, and `rate` in each `period` in the long run.
    fn new(name: &'static str, burst: u32, rate: u32, period: Duration) -> anyhow::Result<Self> {
        anyhow::ensure!(burst > 0, "limits: a burst must not be zero");
        let interval = period.checked_div(rate).context("limits: a rate must not be zero")?;
        anyhow::ensure!(interval >= Duration::from_micros(1), "limits: a rate is too high");
        Ok(Self::of(name, burst, interval))
    }

    fn of(name: &'static str, burst: u32, interval: Duration) -> Self {
        let window = (interval * burst).as_secs().max(1);
        let policy = HeaderValue::try_from(format!("\"{name}\";q={burst};w={window}"));
        let policy = policy.unwrap_or(HeaderValue::from_static(""));
        Self { name, burst, interval, policy }
    }
}

/// A request of one caller, counted against one limit.
struct Count<'a> {
    rule: &'a Rule,
    key: u128,
}

/// Whether a request keeps within its limits. `limit` is the number of the limit that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allowed { limit: usize, remaining: u32 },
    Refused { limit: usize, wait: Duration },
}

/// The remaining limit of a caller, as response headers.
#[derive(Debug, Clone)]
pub(crate) struct Remaining {
    policy: HeaderValue,
    state: String,
}

impl Remaining {
    fn new(rule: &Rule, remaining: u32, retry_after: Option<u64>) -> Self {
        let name = rule.name;
        let reset = retry_after.map_or_else(String::new, |seconds| format!(";t={seconds}"));
        Self { policy: rule.policy.clone(), state: format!("\"{name}\";r={remaining}{reset}") }
    }

    /// Adds `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    pub(crate) fn add_headers(self, headers: &mut HeaderMap) {
        headers.insert(HeaderName::from_static("ratelimit-policy"), self.policy);
        if let Ok(state) = HeaderValue::try_from(self.state) {
            headers.insert(HeaderName::from_static("ratelimit"), state);
        }
    }
}

/// The caller has no allowance left.
#[derive(Debug, Clone, thiserror::Error)]
#[error("rate limit exceeded, retry after {retry_after} s")]
pub(crate) struct Exceeded {
    remaining: Remaining,
    /// Seconds until the next request is accepted.
    retry_after: u64,
}

impl Exceeded {
    /// `Retry-After`, `RateLimit-Policy` and `RateLimit`.
    fn headers(self) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(header::RETRY_AFTER, self.retry_after.into())]);
        self.remaining.add_headers(&mut headers);
        headers
    }
}

impl From<Exceeded> for Refusal {
    fn from(exceeded: Exceeded) -> Self {
        let problem =
            Problem::new(ProblemType::TooManyRequests, "You send requests faster than the platform allows.");
        Self::with_headers(problem, exceeded.headers())
    }
}

/// The network of an address. A client with one IPv6 address usually has its whole /64.
pub(crate) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & 0xffff_ffff_ffff_ffff_0000_0000_0000_0000))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn number(peer: IpAddr) -> u128 {
    match network(peer) {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(limits: &Limits) -> anyhow::Result<RateLimits> {
        RateLimits::new(limits, &Metrics::default())
    }

    fn of_users(burst: u32) -> RateLimits {
        limits(&Limits { request_burst: burst, requests_per_second: 1, ..Limits::default() }).unwrap()
    }

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_rate_of_zero_is_refused() {
        let none = Limits::default();
        for zero in [
            Limits { request_burst: 0, ..none.clone() },
            Limits { requests_per_second: 0, ..none.clone() },
            Limits { sign_in_burst: 0, ..none.clone() },
            Limits { sign_ins_per_minute: 0, ..none.clone() },
            Limits { tenant_requests_per_second: 0, ..none.clone() },
            Limits { address_request_burst: 0, ..none.clone() },
            Limits { requests_per_second: 2_000_000, ..none },
        ] {
            assert!(limits(&zero).is_err(), "{zero:?}");
        }
    }

    #[tokio::test]
    async fn the_headers_state_policy_and_remaining_requests() {
        let (limits, user) = (of_users(2), UserId::new());
        let mut headers = HeaderMap::new();
        limits.check_request(PEER, None, user).await.unwrap().add_headers(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"user\";q=2;w=2");
        assert_eq!(headers["ratelimit"], "\"user\";r=1");
        limits.check_request(PEER, None, user).await.unwrap();
        let exceeded = limits.check_request(PEER, None, user).await.unwrap_err();
        let headers = exceeded.headers();
        assert_eq!(headers["retry-after"], "1");
        assert_eq!(headers["ratelimit"], "\"user\";r=0;t=1");
        assert!(limits.check_request(PEER, None, UserId::new()).await.is_ok(), "another user");
    }

    #[tokio::test]
    async fn the_users_of_a_tenant_and_of_an_address_share_a_limit() {
        let few = Limits {
            tenant_request_burst: 2,
            tenant_requests_per_second: 1,
            address_request_burst: 3,
            address_requests_per_second: 1,
            ..Limits::default()
        };
        let (limits, tenant) = (limits(&few).unwrap(), TenantId::new());
        let request = async |tenant| {
            let checked = limits.check_request(PEER, Some(tenant), UserId::new()).await;
            checked.map_err(|exceeded| exceeded.remaining.state)
        };
        assert!(request(tenant).await.is_ok());
        assert!(request(tenant).await.is_ok());
        assert_eq!(request(tenant).await.unwrap_err(), "\"tenant\";r=0;t=1");
        assert!(request(TenantId::new()).await.is_ok(), "a refused request does not count for the address");
        assert_eq!(request(TenantId::new()).await.unwrap_err(), "\"address\";r=0;t=1");
    }

    #[tokio::test]
    async fn addresses_of_one_ipv6_network_share_an_allowance() {
        let limits =
            limits(&Limits { sign_in_burst: 1, sign_ins_per_minute: 1, ..Limits::default() }).unwrap();
        let check = async |peer: &str| limits.check_sign_in(peer.parse().unwrap()).await.is_ok();
        assert!(check("2001:db8:0:1::1").await);
        assert!(!check("2001:db8:0:1:ffff::2").await, "the same /64");
        assert!(check("2001:db8:0:2::1").await, "another /64");
        assert!(check("10.0.0.1").await);
        assert!(check("10.0.0.2").await, "another IPv4 address");
        assert!(!check("::ffff:10.0.0.1").await, "the same IPv4 address");
    }

    #[tokio::test]
    async fn a_caller_in_debt_is_not_forgotten() {
        let (limits, user) = (of_users(1), UserId::new());
        limits.check_request(PEER, None, user).await.unwrap();
        limits.forget_idle();
        assert!(limits.check_request(PEER, None, user).await.is_err());
    }
}
