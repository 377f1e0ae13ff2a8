//! The services together.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed assertion is the point of a test, which runs on the real clock"
)]

mod lost_nodes;
mod model;
mod restore;
mod support;
mod users;
