//! Rules for new links. Pure.

use api::{Checks, Problem};
use jiff::{SignedDuration, Timestamp};

use super::recipient::Recipient;

/// Maximum number of characters of a name.
const MAX_NAME: usize = 100;
/// How long a link is valid, at least and at most.
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Checks a new link.
///
/// # Errors
/// `invalid-field`, with what is not valid.
pub(super) fn check(
    name: &str,
    recipient: Option<&Recipient>,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<(), Problem> {
    let mut checks = Checks::default();
    checks.display_name("/name", name, MAX_NAME);
    if let Some(recipient) = recipient {
        recipient.check(&mut checks);
    }
    let life = now.duration_until(expires_at);
    checks.require(
        (SHORTEST..=LONGEST).contains(&life),
        "/expires_at",
        "must be at least a minute and at most 30 days from now",
    );
    Ok(checks.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_valid_for_a_minute_to_thirty_days() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        for (seconds, valid) in
            [(-1, false), (59, false), (60, true), (30 * 86_400, true), (30 * 86_400 + 1, false)]
        {
            let expires_at = now + SignedDuration::from_secs(seconds);
            assert_eq!(check("for Ann", None, expires_at, now).is_ok(), valid, "{seconds}");
        }
        assert!(check("", None, now + LONGEST, now).is_err());
        assert!(check(&"x".repeat(101), None, now + LONGEST, now).is_err());
    }
}
