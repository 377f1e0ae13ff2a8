//! Typed clients of the services' internal operations: how the parts of the platform call each other.
//!
//! The types are written down here, not shared with the services; `tests/contract.rs` compares each call
//! with the callee's committed `openapi/<service>.json`. Clients do not retry: who calls knows whether to.

pub mod contract;
pub mod gpu;
pub mod http;
pub mod stock;
pub mod storage;

pub use http::{Endpoint, Error};
