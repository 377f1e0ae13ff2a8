//! How many requests a caller may make. Each gateway process counts by itself.

use std::{
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    time::Duration,
};

use anyhow::Context;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};
use ids::UserId;

use crate::config::Limits;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// Lookups of unknown host names per client address.
const LOOKUPS_PER_MINUTE: u32 = 60;
const LOOKUP_BURST: u32 = 60;

/// The rate limits of all callers.
pub(crate) struct RateLimits {
    users: RateLimit<UserId>,
    sign_ins: RateLimit<IpAddr>,
    lookups: RateLimit<IpAddr>,
}

impl RateLimits {
    /// # Errors
    /// If a configured rate is zero or too high.
    pub(crate) fn new(limits: &Limits) -> anyhow::Result<Self> {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        Ok(Self {
            users: RateLimit::new("user", limits.request_burst, limits.requests_per_second, second)?,
            sign_ins: RateLimit::new("sign-in", limits.sign_in_burst, limits.sign_ins_per_minute, minute)?,
            lookups: RateLimit::new("lookup", LOOKUP_BURST, LOOKUPS_PER_MINUTE, minute)?,
        })
    }

    /// Counts one request of a user.
    pub(crate) fn check_user(&self, user: UserId) -> Result<Remaining, Exceeded> {
        self.users.check(&user)
    }

    /// Counts one attempt to sign in, refresh a session or redeem a ticket from this address.
    pub(crate) fn check_sign_in(&self, peer: IpAddr) -> Result<Remaining, Exceeded> {
        self.sign_ins.check(&network(peer))
    }

    /// Counts one lookup of a host name that is not known, by a client that has opened nothing.
    pub(crate) fn check_lookup(&self, peer: IpAddr) -> Result<Remaining, Exceeded> {
        self.lookups.check(&network(peer))
    }

    /// Forgets callers whose allowance is full again.
    pub(crate) fn forget_idle(&self) {
        self.users.forget_idle();
        self.sign_ins.forget_idle();
        self.lookups.forget_idle();
    }
}

/// The limit of one kind of request, counted by key.
pub(crate) struct RateLimit<K: Hash + Eq + Clone> {
    name: &'static str,
    /// `RateLimit-Policy`.
    policy: HeaderValue,
    limiter: Limiter<K>,
}

impl<K: Hash + Eq + Clone> RateLimit<K> {
    /// At most `burst` requests at once, and `rate` in each `period` in the long run.
    pub(crate) fn new(name: &'static str, burst: u32, rate: u32, period: Duration) -> anyhow::Result<Self> {
        let nonzero = |n| NonZeroU32::new(n).context("limits: a rate must not be zero");
        let quota = Quota::with_period(period / nonzero(rate)?.get())
            .context("limits: a rate is too high")?
            .allow_burst(nonzero(burst)?);
        let window = quota.burst_size_replenished_in().as_secs().max(1);
        Ok(Self {
            name,
            policy: HeaderValue::from_str(&format!("\"{name}\";q={burst};w={window}"))?,
            limiter: RateLimiter::dashmap(quota).with_middleware(),
        })
    }

    pub(crate) fn check(&self, key: &K) -> Result<Remaining, Exceeded> {
        let (name, policy) = (self.name, self.policy.clone());
        match self.limiter.check_key(key) {
            Ok(state) => {
                let state = format!("\"{name}\";r={}", state.remaining_burst_capacity());
                Ok(Remaining { policy, state })
            }
            Err(not_until) => {
                let wait = not_until.wait_time_from(DefaultClock::default().now());
                let retry_after = wait.as_secs() + 1;
                let state = format!("\"{name}\";r=0;t={retry_after}");
                Err(Exceeded { remaining: Remaining { policy, state }, retry_after })
            }
        }
    }

    fn forget_idle(&self) {
        self.limiter.retain_recent();
        self.limiter.shrink_to_fit();
    }
}

/// What remains of a caller's allowance, as response headers.
#[derive(Debug, Clone)]
pub(crate) struct Remaining {
    policy: HeaderValue,
    state: String,
}

impl Remaining {
    /// Adds `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    pub(crate) fn add_headers(self, headers: &mut HeaderMap) {
        headers.insert(HeaderName::from_static("ratelimit-policy"), self.policy);
        if let Ok(state) = HeaderValue::from_str(&self.state) {
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
    /// Adds `Retry-After`, `RateLimit-Policy` and `RateLimit`.
    pub(crate) fn add_headers(self, headers: &mut HeaderMap) {
        headers.insert(header::RETRY_AFTER, self.retry_after.into());
        self.remaining.add_headers(headers);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(burst: u32) -> RateLimits {
        RateLimits::new(&Limits {
            request_burst: burst,
            requests_per_second: 1,
            sign_in_burst: burst,
            sign_ins_per_minute: 1,
            ..Limits::default()
        })
        .unwrap()
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        for zero in [
            Limits { request_burst: 0, ..Limits::default() },
            Limits { requests_per_second: 0, ..Limits::default() },
            Limits { sign_in_burst: 0, ..Limits::default() },
            Limits { sign_ins_per_minute: 0, ..Limits::default() },
        ] {
            assert!(RateLimits::new(&zero).is_err(), "{zero:?}");
        }
    }

    #[test]
    fn the_headers_state_policy_and_remaining_requests() {
        let (limits, user) = (limits(2), UserId::new());
        let mut headers = HeaderMap::new();
        limits.check_user(user).unwrap().add_headers(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"user\";q=2;w=2");
        assert_eq!(headers["ratelimit"], "\"user\";r=1");
        limits.check_user(user).unwrap();
        let exceeded = limits.check_user(user).unwrap_err();
        exceeded.add_headers(&mut headers);
        assert_eq!(headers["retry-after"], "1");
        assert_eq!(headers["ratelimit"], "\"user\";r=0;t=1");
        assert!(limits.check_user(UserId::new()).is_ok(), "another user has an allowance of their own");
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_an_allowance() {
        let limits = limits(1);
        let check = |peer: &str| limits.check_sign_in(peer.parse().unwrap()).is_ok();
        assert!(check("2001:db8:0:1::1"));
        assert!(!check("2001:db8:0:1:ffff::2"), "the same /64");
        assert!(check("2001:db8:0:2::1"), "another /64");
        assert!(check("10.0.0.1"));
        assert!(check("10.0.0.2"), "another IPv4 address");
        assert!(!check("::ffff:10.0.0.1"), "the same IPv4 address");
    }

    #[test]
    fn a_caller_in_debt_is_not_forgotten() {
        let (limits, user) = (limits(1), UserId::new());
        limits.check_user(user).unwrap();
        limits.forget_idle();
        assert!(limits.check_user(user).is_err());
    }
}
