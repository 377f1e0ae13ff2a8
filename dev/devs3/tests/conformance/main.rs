//! What an object store must answer. The same cases run against the embedded one and, when
//! `RGW_ENDPOINT`, `RGW_ACCESS_KEY` and `RGW_SECRET_KEY` are set, against a real Ceph RGW: where
//! the two differ, the embedded one is wrong.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod admin;
mod data;
mod harness;
mod survival;
