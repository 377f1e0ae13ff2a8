//! The required behaviour of the object store. The cases run against the development store and, if `RGW_ENDPOINT`,
//! `RGW_ACCESS_KEY` and `RGW_SECRET_KEY` are set, against a real Ceph RGW. Where the two differ, the development store
//! is wrong.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod admin;
mod cors;
mod data;
mod harness;
mod survival;
