//! The installations.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod chart;
mod compose;

/// Not a case of its own: see `program::start`.
#[test]
#[ignore = "a process of other cases"]
fn reads_its_configuration() {
    atelier_install_tests::program::in_process();
}
