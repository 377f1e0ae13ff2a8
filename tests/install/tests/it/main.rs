//! The installations.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod chart;
mod compose;
mod support;

/// Not a case of its own: see `program::start`.
#[test]
#[ignore = "a process of other cases"]
fn reads_its_configuration() {
    crate::support::program::in_process();
}
