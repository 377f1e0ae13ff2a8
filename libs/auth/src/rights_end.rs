//! When a stream has to end, regardless of its client.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{Principal, Verifier};

/// Why a stream has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightsEnd {
    /// The process shuts down.
    Shutdown,
    /// The rights were revoked: sign-out, a removed membership, a suspended tenant.
    Revoked,
    /// The token has expired.
    TokenExpired,
}

impl RightsEnd {
    /// Returns a sentence for the client.
    #[must_use]
    pub fn comment(self) -> &'static str {
        match self {
            Self::Shutdown => "the service is restarting; connect again",
            Self::Revoked => "your rights have ended",
            Self::TokenExpired => "the token has expired; connect again with a new one",
        }
    }
}

/// Completes when shutdown begins, the caller's rights are revoked or, for clients that connect again by themselves
/// (`reconnects`), the token expires.
pub fn rights_end(
    verifier: &Verifier,
    caller: &Principal,
    shutdown: CancellationToken,
    now: Timestamp,
    reconnects: bool,
) -> impl Future<Output = RightsEnd> + Send + use<> {
    let revocations = verifier.revocations().clone();
    let (grant, expires_at) = (caller.grant(), caller.expires_at);
    async move {
        tokio::select! {
            () = shutdown.cancelled_owned() => RightsEnd::Shutdown,
            () = revocations.ended(grant) => RightsEnd::Revoked,
            () = sleep(until(now, expires_at)), if reconnects => RightsEnd::TokenExpired,
        }
    }
}

/// Returns the time from `now` to `then`, at most a day.
fn until(now: Timestamp, then: Timestamp) -> Duration {
    let day = SignedDuration::from_hours(24);
    then.duration_since(now).clamp(SignedDuration::ZERO, day).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_waited_for_until_it_expires() {
        let now = Timestamp::from_second(1000).unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(until(now, at(1600)), Duration::from_secs(600));
        assert_eq!(until(now, at(999)), Duration::ZERO);
        assert_eq!(until(now, Timestamp::MAX), Duration::from_secs(86_400));
    }
}
