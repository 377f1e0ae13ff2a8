//! The rank of a request.

use std::time::Duration;

use api::Urgency;
use axum::http::{HeaderMap, Method};

/// The rank of a request, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Requests that end costs or harm (stop, cancel, delete, sign out), requests of administrators, and reads of a
    /// job.
    Urgent,
    Ordinary,
    /// May wait: history, statistics.
    Background,
}

/// Last path segments of urgent commands.
const URGENT: [&str; 4] = ["stop", "cancel", "revoke", "suspend"];
/// Last path segments of reads that may wait.
const BACKGROUND: [&str; 5] = ["events", "log", "metrics", "usage", "platform-usage"];

impl Class {
    /// The class of a request. A client may lower it with `Priority` (RFC 9218), but not raise it, as all
    /// clients would.
    pub(crate) fn of(method: &Method, path: &str, headers: &HeaderMap, is_admin: bool) -> Self {
        let own = Self::by_path(method, path, is_admin);
        match Urgency::of(headers) {
            Some(Urgency::Background) => Self::Background,
            Some(Urgency::Ordinary) => own.max(Self::Ordinary),
            Some(Urgency::Urgent) | None => own,
        }
    }

    fn by_path(method: &Method, path: &str, is_admin: bool) -> Self {
        let mut segments = path.rsplit('/');
        let (last, parent) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        let is_read = method.is_safe();
        if is_read && parent == "jobs" {
            // a client that waits for a result polls it
            Self::Urgent
        } else if !is_read && (*method == Method::DELETE || is_admin || URGENT.contains(&last)) {
            Self::Urgent
        } else if is_read && BACKGROUND.contains(&last) {
            Self::Background
        } else {
            Self::Ordinary
        }
    }

    /// How long a request waits before it is shed.
    pub(crate) fn patience(self) -> Duration {
        match self {
            Self::Urgent => Duration::from_secs(5),
            Self::Ordinary => Duration::from_secs(2),
            Self::Background => Duration::from_millis(500),
        }
    }

    /// How many requests of this class are admitted for each one of the background class, if all classes
    /// wait.
    pub(super) fn weight(self) -> i64 {
        match self {
            Self::Urgent => 16,
            Self::Ordinary => 4,
            Self::Background => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_ranked_by_what_they_do() {
        let none = HeaderMap::new();
        for (method, path, is_admin, class) in [
            (Method::GET, "/v1/instances", false, Class::Ordinary),
            (Method::POST, "/v1/instances", false, Class::Ordinary),
            (Method::POST, "/v1/instances/inst_1/stop", false, Class::Urgent),
            (Method::DELETE, "/v1/instances/inst_1", false, Class::Urgent),
            (Method::POST, "/v1/gpu-specs", true, Class::Urgent),
            (Method::GET, "/v1/stock", true, Class::Ordinary),
            (Method::GET, "/v1/jobs", false, Class::Ordinary),
            (Method::GET, "/v1/jobs/job_1", false, Class::Urgent),
            (Method::GET, "/v1/jobs/job_1/events", false, Class::Background),
            (Method::GET, "/v1/events", false, Class::Background),
            (Method::GET, "/v1/instances/inst_1/metrics", false, Class::Background),
        ] {
            assert_eq!(Class::of(&method, path, &none, is_admin), class, "{method} {path}");
        }
    }

    #[test]
    fn a_client_may_lower_the_rank_and_not_raise_it() {
        let priority = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("priority", value.parse().unwrap());
            Class::of(&Method::DELETE, "/v1/instances/inst_1", &headers, false)
        };
        assert_eq!(priority("u=7, i"), Class::Background);
        assert_eq!(priority("u=3"), Class::Ordinary);
        assert_eq!(priority("u=0"), Class::Urgent);
        let mut headers = HeaderMap::new();
        headers.insert("priority", "u=0".parse().unwrap());
        assert_eq!(Class::of(&Method::GET, "/v1/events", &headers, false), Class::Background);
    }
}
