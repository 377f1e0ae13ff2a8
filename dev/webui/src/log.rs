//! The log that a user of the instance reads: plain lines on standard output.

use std::io::Write as _;

/// Writes one line. A closed standard output is ignored.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
