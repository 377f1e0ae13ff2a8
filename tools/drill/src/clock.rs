//! The clock of the command.

use jiff::{SignedDuration, Timestamp};

/// The moment at which this time has passed.
pub(super) fn after(time: SignedDuration) -> anyhow::Result<Timestamp> {
    #[expect(clippy::disallowed_methods, reason = "the time of the command")]
    Ok(Timestamp::now().checked_add(time)?)
}
