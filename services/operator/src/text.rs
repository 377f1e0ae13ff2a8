//! Checks of text that several requests have.

use api::Checks;

/// Requires 1 to `most` characters without control characters, for values that are not shown as names.
pub(crate) fn require_text(checks: &mut Checks, pointer: &str, text: &str, most: usize) {
    let is_valid = (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    checks.require(is_valid, pointer, format!("must be 1 to {most} characters without control characters"));
}
