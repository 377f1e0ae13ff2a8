//! How many requests a caller may make, counted in this process.

use std::{
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    time::Duration,
};

use ::api::{Problem, ProblemType};
use anyhow::Context;
use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};
use ids::UserId;

use crate::config::Limits;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// The limits of all callers.
pub(crate) struct Rates {
    users: Named<UserId>,
    sign_ins: Named<IpAddr>,
}

struct Named<K: std::hash::Hash + Eq + Clone> {
    limiter: Limiter<K>,
    /// `RateLimit-Policy`.
    policy: HeaderValue,
    name: &'static str,
}

/// What is left of a caller's allowance: for the answer's headers.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    policy: HeaderValue,
    state: String,
}

impl Left {
    /// Adds `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
    pub(crate) fn tell(self, response: &mut Response) {
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static("ratelimit-policy"), self.policy);
        if let Ok(state) = HeaderValue::from_str(&self.state) {
            headers.insert(HeaderName::from_static("ratelimit"), state);
        }
    }
}

impl<K: std::hash::Hash + Eq + Clone> Named<K> {
    fn new(name: &'static str, burst: u32, many: u32, per: Duration) -> anyhow::Result<Self> {
        let nonzero = |n| NonZeroU32::new(n).context("limits: a rate must not be zero");
        let quota = Quota::with_period(per / nonzero(many)?.get())
            .context("limits: a rate is too high")?
            .allow_burst(nonzero(burst)?);
        let refill = quota.burst_size_replenished_in().as_secs().max(1);
        Ok(Self {
            limiter: RateLimiter::dashmap(quota).with_middleware(),
            policy: HeaderValue::from_str(&format!("\"{name}\";q={burst};w={refill}"))?,
            name,
        })
    }

    fn check(&self, key: &K) -> Result<Left, Box<Response>> {
        match self.limiter.check_key(key) {
            Ok(state) => Ok(Left {
                policy: self.policy.clone(),
                state: format!("\"{}\";r={}", self.name, state.remaining_burst_capacity()),
            }),
            Err(not_until) => {
                let wait = not_until.wait_time_from(DefaultClock::default().now());
                let seconds = wait.as_secs() + 1;
                let problem = Problem::new(
                    ProblemType::TooManyRequests,
                    "You are sending requests faster than the platform allows you to.",
                );
                let mut response = ([(header::RETRY_AFTER, seconds.to_string())], problem).into_response();
                Left { policy: self.policy.clone(), state: format!("\"{}\";r=0;t={seconds}", self.name) }
                    .tell(&mut response);
                Err(Box::new(response))
            }
        }
    }
}

impl Rates {
    pub(crate) fn new(limits: &Limits) -> anyhow::Result<Self> {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        Ok(Self {
            users: Named::new("user", limits.request_burst, limits.requests_per_second, second)?,
            sign_ins: Named::new("sign-in", limits.sign_in_burst, limits.sign_ins_per_minute, minute)?,
        })
    }

    /// One request of a user.
    ///
    /// # Errors
    /// The 429 answer.
    pub(crate) fn user(&self, user: UserId) -> Result<Left, Box<Response>> {
        self.users.check(&user)
    }

    /// One try, from this address, to get in.
    ///
    /// # Errors
    /// The 429 answer.
    pub(crate) fn sign_in(&self, peer: IpAddr) -> Result<Left, Box<Response>> {
        self.sign_ins.check(&network(peer))
    }

    /// Forgets callers who have their whole allowance again.
    pub(crate) fn forget_idle(&self) {
        self.users.limiter.retain_recent();
        self.users.limiter.shrink_to_fit();
        self.sign_ins.limiter.retain_recent();
        self.sign_ins.limiter.shrink_to_fit();
    }
}

/// Who has one IPv6 address usually has its whole /64.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & 0xffff_ffff_ffff_ffff_0000_0000_0000_0000))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}
