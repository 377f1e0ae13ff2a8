//! The commands on real databases.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod administrator;
mod bundle;
mod keys;
mod restores;
mod world;
