//! Webhooks and deliveries as JSON, and when an attempt is repeated.

use std::time::Duration;

use ids::{ApiKeyId, DeliveryId, UserId, WebhookId};
use jiff::Timestamp;
use jobs_core::event::EventType;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Seconds after failed attempts: the eighth, which is the last, is made about a day after the first.
const DELAYS: [u64; 7] = [5, 60, 300, 1_800, 7_200, 21_600, 54_000];
/// Maximum time to wait for an endpoint that asks for it.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);
/// Type of the message that `test` sends.
pub(super) const TEST: &str = "webhook.test";
/// Longest URL, in bytes.
pub(super) const MAX_URL: usize = 2048;
/// Maximum number of types that a webhook may name: more than there are.
pub(super) const MAX_EVENTS: usize = 32;

/// A new webhook.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWebhook {
    /// Where messages are sent: an https URL of a public host.
    #[schema(example = "https://example.com/atelier", max_length = 2048)]
    pub(super) url: String,
    /// Types of events that are sent; all if empty.
    #[serde(default)]
    #[schema(max_items = 32)]
    pub(super) events: Vec<EventType>,
}

/// A change of a webhook. Absent members stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookChange {
    /// Where messages are sent.
    #[schema(example = "https://example.com/atelier", max_length = 2048)]
    pub(super) url: Option<String>,
    /// Types of events that are sent; all if empty.
    #[schema(max_items = 32)]
    pub(super) events: Option<Vec<EventType>>,
    /// Whether events are sent. Messages that are due while it is false are cancelled.
    pub(super) enabled: Option<bool>,
}

/// Why the platform has disabled a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum WebhookProblem {
    /// The endpoint has accepted nothing for three days. Repair it, then enable the webhook.
    Failing,
    /// The endpoint has answered that it is gone (410). Enable the webhook when there is one again.
    Gone,
    /// The rights of its maker have ended: the user is no longer a member who may write, or the API key has ended. Who enables it, or
    /// an owner who takes it over, is its maker from then on.
    MakerEnded,
}

/// An endpoint of the tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Webhook {
    /// Webhook id.
    pub(super) id: WebhookId,
    /// Where messages are sent.
    #[schema(example = "https://example.com/atelier")]
    pub(super) url: String,
    /// Types of events that are sent; all if empty.
    pub(super) events: Vec<EventType>,
    /// Whether events are sent.
    pub(super) enabled: bool,
    /// Why the platform has disabled it, or null.
    pub(super) problem: Option<WebhookProblem>,
    /// Until this time, messages are also signed with the previous secret; or null.
    pub(super) previous_secret_until: Option<Timestamp>,
    /// First failed attempt since the last success, or null.
    pub(super) failing_since: Option<Timestamp>,
    /// Approximate time when the last message was accepted, or null.
    pub(super) last_success_at: Option<Timestamp>,
    /// The user who is responsible for it: who created it, last enabled it or changed its URL, or took it over. It ends
    /// with this user's rights in the tenant. Null if it belongs to the tenant, for example because its maker was not
    /// recorded.
    pub(super) created_by: Option<UserId>,
    /// The API key with which that was done, with which it ends, or null.
    pub(super) created_by_key: Option<ApiKeyId>,
    /// Time of creation.
    pub(super) created_at: Timestamp,
    #[serde(skip)]
    pub(super) generation: i64,
}

/// State of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DeliveryState {
    /// Is sent, or waits for the next attempt.
    Pending,
    /// Accepted with a status of 2xx.
    Delivered,
    /// All attempts have failed.
    Failed,
    /// It was due while the webhook was disabled.
    Cancelled,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DeliveryAttempt {
    /// When it began.
    pub(super) at: Timestamp,
    /// HTTP status of the answer, or null.
    pub(super) status: Option<u16>,
    /// Why it failed, or null.
    pub(super) error: Option<DeliveryError>,
    /// Seconds for which the endpoint asked to wait (`Retry-After`), or null.
    #[serde(default)]
    pub(super) retry_after_seconds: Option<u64>,
    /// How long it took.
    pub(super) milliseconds: u64,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryError {
    /// The status of the answer was not 2xx. Redirects are not followed.
    Refused,
    /// There was no answer within 10 seconds.
    TimedOut,
    /// The host has no address, does not accept the connection, or its certificate is not valid.
    NoConnection,
    /// The host has an address that is not one of the internet, or the URL is not https.
    AddressNotAllowed,
}

/// A message to an endpoint.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub(crate) struct Delivery {
    /// Delivery id.
    pub(super) id: DeliveryId,
    /// The webhook.
    pub(super) webhook_id: WebhookId,
    /// The header `webhook-id`: the `id` of the event. The same in each attempt.
    #[schema(example = "job_01939f0a7c3d7e6b8a1f4f0d5c2b1a00-3")]
    pub(super) message_id: String,
    /// Type of the event, or `webhook.test`.
    #[serde(rename = "type")]
    #[schema(example = "job.succeeded")]
    pub(super) kind: String,
    /// Current state.
    pub(super) state: DeliveryState,
    /// Attempts, oldest first.
    pub(super) attempts: Vec<DeliveryAttempt>,
    /// When the next attempt is due, or null.
    pub(super) next_attempt_at: Option<Timestamp>,
    /// Time of creation.
    pub(super) created_at: Timestamp,
    /// When it was delivered or given up, or null.
    pub(super) ended_at: Option<Timestamp>,
}

/// Why an endpoint has not accepted a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendError {
    /// Its status was not 2xx.
    Refused {
        status: u16,
        /// Delay that it requested for the next attempt.
        retry_after: Option<Duration>,
    },
    TimedOut,
    NoConnection,
    AddressNotAllowed,
}

impl SendError {
    /// The endpoint wants no more messages.
    pub(super) fn is_gone(self) -> bool {
        matches!(self, Self::Refused { status: 410, .. })
    }

    /// How long the endpoint is to get no messages: it has too many requests, or reports that it is
    /// unavailable and for how long.
    pub(super) fn hold(self) -> Option<Duration> {
        match self {
            Self::Refused { status: 429, retry_after } => {
                Some(retry_after.unwrap_or_default().max(Duration::from_secs(DELAYS[0])))
            }
            Self::Refused { status: 503, retry_after } => retry_after,
            Self::Refused { .. } | Self::TimedOut | Self::NoConnection | Self::AddressNotAllowed => None,
        }
    }

    fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => retry_after,
            Self::TimedOut | Self::NoConnection | Self::AddressNotAllowed => None,
        }
    }
}

impl DeliveryAttempt {
    /// The label of a metric.
    pub(super) fn outcome(&self) -> &'static str {
        match self.error {
            None => "delivered",
            Some(DeliveryError::Refused) => "refused",
            Some(DeliveryError::TimedOut) => "timed_out",
            Some(DeliveryError::NoConnection) => "no_connection",
            Some(DeliveryError::AddressNotAllowed) => "address_not_allowed",
        }
    }

    /// The attempt that ended with this result.
    pub(super) fn new(at: Timestamp, took: Duration, result: Result<u16, SendError>) -> Self {
        let (status, error) = match result {
            Ok(status) => (Some(status), None),
            Err(SendError::Refused { status, .. }) => (Some(status), Some(DeliveryError::Refused)),
            Err(SendError::TimedOut) => (None, Some(DeliveryError::TimedOut)),
            Err(SendError::NoConnection) => (None, Some(DeliveryError::NoConnection)),
            Err(SendError::AddressNotAllowed) => (None, Some(DeliveryError::AddressNotAllowed)),
        };
        Self {
            at,
            status,
            error,
            retry_after_seconds: result.err().and_then(SendError::retry_after).map(|after| after.as_secs()),
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Returns the time of the next attempt after this number of failed attempts, the last one with this error; none if the
/// delivery has failed. `jitter` is 0 to 1.
pub(super) fn delay(failed: usize, error: SendError, jitter: f64) -> Option<Duration> {
    let seconds = DELAYS.get(failed.checked_sub(1)?)?;
    let delay = Duration::from_secs(*seconds).max(error.retry_after().unwrap_or_default());
    Some(delay.mul_f64(1.0 + jitter / 100.0))
}

/// Reads the header `Retry-After` (RFC 9110): seconds, or a time. None if it is neither.
pub(super) fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let header = header.trim();
    let is_number = !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit());
    let after = if is_number {
        // a number that is too large for its type is a long time, too
        header.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs)
    } else {
        // also for a time that is out of range of a timestamp
        let at = httpdate::parse_http_date(header).ok()?;
        at.duration_since(now.into()).unwrap_or_default()
    };
    Some(after.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_attempts_are_made_within_a_day() {
        let late = SendError::TimedOut;
        let delays: Vec<_> = (1..10).map_while(|failed| delay(failed, late, 0.0)).collect();
        assert_eq!(delays.len(), 7);
        assert!(delays.is_sorted());
        let last: Duration = delays.iter().sum();
        assert!(last > Duration::from_hours(23) && last < Duration::from_hours(24), "{last:?}");
        assert!(delay(1, late, 1.0) > delay(1, late, 0.0));
    }

    #[test]
    fn an_endpoint_is_waited_for_as_long_as_it_asks() {
        let refused = |status, seconds: Option<u64>| SendError::Refused {
            status,
            retry_after: seconds.map(Duration::from_secs),
        };
        for (failed, error, seconds) in [
            (1, refused(429, Some(3_600)), Some(3_600)),
            (1, refused(503, Some(1)), Some(5)),
            (2, refused(503, Some(30)), Some(60)),
            (7, refused(429, Some(60)), Some(54_000)),
            (8, refused(429, Some(60)), None),
            (1, refused(503, None), Some(5)),
        ] {
            assert_eq!(delay(failed, error, 0.0), seconds.map(Duration::from_secs), "{failed} {error:?}");
        }
    }

    #[test]
    fn an_endpoint_that_is_busy_or_away_is_held() {
        let held = |status, seconds: Option<u64>| {
            SendError::Refused { status, retry_after: seconds.map(Duration::from_secs) }.hold()
        };
        for (status, asked, seconds) in [
            (429, Some(3_600), Some(3_600)),
            (429, Some(0), Some(5)),
            (429, None, Some(5)),
            (503, Some(120), Some(120)),
            (503, None, None),
            // of this message
            (413, Some(60), None),
            (500, Some(60), None),
        ] {
            assert_eq!(held(status, asked), seconds.map(Duration::from_secs), "{status} {asked:?}");
        }
        assert_eq!(SendError::TimedOut.hold(), None);
    }

    #[test]
    fn retry_after_is_a_number_or_a_time() {
        let now: Timestamp = "2026-12-31T23:00:00Z".parse().unwrap();
        for (header, seconds) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("86401", Some(86_400)),
            ("99999999999999999999999", Some(86_400)),
            ("Fri, 01 Jan 2027 00:00:00 GMT", Some(3_600)),
            ("Friday, 01-Jan-27 00:00:00 GMT", Some(3_600)),
            ("Fri Jan  1 00:00:00 2027", Some(3_600)),
            ("Sat, 01 Jan 2028 00:00:00 GMT", Some(86_400)),
            // the last time that the header can say
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400)),
            ("Thu, 31 Dec 2026 22:00:00 GMT", Some(0)),
            ("", None),
            ("-5", None),
            ("+5", None),
            ("1.5", None),
            ("1e3", None),
            ("soon", None),
            ("2027-01-01T00:00:00Z", None),
            ("Fri, 32 Jan 2027 00:00:00 GMT", None),
        ] {
            assert_eq!(retry_after(header, now), seconds.map(Duration::from_secs), "{header:?}");
        }
    }
}
