//! The current time, for health and metrics.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The present time; the epoch if the clock is before it.
pub(crate) fn now() -> Timestamp {
    Timestamp::try_from(SystemTime::now()).unwrap_or_default()
}

/// The present time in seconds since 1970.
pub(crate) fn now_in_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
