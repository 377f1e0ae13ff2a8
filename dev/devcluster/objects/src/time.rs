//! Times as Kubernetes writes them.

use jiff::Timestamp;

/// The current time in whole seconds.
pub fn now() -> String {
    seconds(Timestamp::now())
}

/// The current time with microseconds.
pub fn now_micro() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A time in whole seconds.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
