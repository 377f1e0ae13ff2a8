//! The clock of the process.

use jiff::Timestamp;

/// The clock. Copies are the same clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock(pub fn() -> Timestamp);

impl Clock {
    /// Returns the current time.
    pub fn now(self) -> Timestamp {
        (self.0)()
    }
}
