//! The window of time of a report.

use jiff::{SignedDuration, Timestamp};

use crate::Problem;

/// The longest window, in days.
const MAX_DAYS: i64 = 366;
/// The window without `from`, in days.
const DEFAULT_DAYS: i64 = 30;

/// The time from `from` until `to`, exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}

impl Window {
    /// Returns the window of the parameters `from` and `to`: until now if `to` is absent, and of 30 days if `from` is.
    ///
    /// # Errors
    /// Returns 422 if it is empty, has more than 366 days, or Postgres cannot store its ends.
    pub fn read(from: Option<Timestamp>, to: Option<Timestamp>, now: Timestamp) -> Result<Self, Problem> {
        let days = |days: i64| SignedDuration::from_hours(24 * days);
        let to = to.unwrap_or(now);
        let from = from.or_else(|| to.checked_sub(days(DEFAULT_DAYS)).ok()).unwrap_or(to);
        // what Postgres can store
        let possible = |at: Timestamp| (0..=i64::from(u32::MAX)).contains(&at.as_second());
        if !possible(from) || !possible(to) {
            let detail = "must be a time between 1970 and 2106, and so must `to`";
            return Err(Problem::invalid_field("from", detail));
        }
        if from >= to {
            return Err(Problem::invalid_field("from", "must be before `to`"));
        }
        if to.duration_since(from) > days(MAX_DAYS) {
            let detail = format!("must be at most {MAX_DAYS} days before `to`");
            return Err(Problem::invalid_field("from", detail));
        }
        Ok(Self { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: Option<&str>, to: Option<&str>) -> Option<(String, String)> {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let window = Window::read(from.map(at), to.map(at), at("2026-07-01T00:00:00Z")).ok()?;
        Some((window.from.to_string(), window.to.to_string()))
    }

    #[test]
    fn a_window_ends_now_and_has_thirty_days_unless_it_is_said() {
        let window = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        assert_eq!(read(None, None), window("2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"));
        let to = "2026-03-31T00:00:00Z";
        assert_eq!(read(None, Some(to)), window("2026-03-01T00:00:00Z", to));
    }

    #[test]
    fn a_window_is_neither_empty_nor_longer_than_a_leap_year() {
        let to = Some("2026-01-02T00:00:00Z");
        assert!(read(Some("2025-01-01T00:00:00Z"), to).is_some());
        for from in ["2024-12-31T23:59:59Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"] {
            assert_eq!(read(Some(from), to), None, "{from}");
        }
        assert_eq!(read(Some("1969-12-31T00:00:00Z"), Some("1970-01-02T00:00:00Z")), None);
    }
}
