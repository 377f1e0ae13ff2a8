//! Errors of fields in requests, as the rules find them.

use api::Problem;

/// A field that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct InvalidField {
    pointer: &'static str,
    detail: String,
}

impl InvalidField {
    /// The field at this JSON pointer is not valid.
    pub fn new(pointer: &'static str, detail: impl Into<String>) -> Self {
        Self { pointer, detail: detail.into() }
    }
}

impl From<InvalidField> for Problem {
    fn from(InvalidField { pointer, detail }: InvalidField) -> Self {
        Self::invalid_field(pointer, detail)
    }
}
