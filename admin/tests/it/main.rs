//! The commands on real databases.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failed assertion is the point of a test, which runs on the real clock"
)]

mod administrator;
mod availability;
mod bundle;
mod fixture;
mod keys;
mod restores;
