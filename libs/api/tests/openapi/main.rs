//! The committed OpenAPI documents.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod conformity;
mod dialect;
mod documents;
mod examples;
