//! The services together.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod model;
mod restore;
mod users;
