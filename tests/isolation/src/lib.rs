//! The platform in one process, for tests of what separates tenants: the real identity, stock, gpu, storage and jobs services
//! behind the real gateway, the real operator, a development cluster, an object store and Postgres. Two tenants own one
//! of everything; requests are generated from the OpenAPI document that the gateway serves.
//!
//! A new operation is covered without a change here, unless a test says what to add.

#![expect(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot be set up must fail loudly, and runs on the real clock"
)]

mod answer;
mod document;
mod forge;
mod platform;
mod predicates;
mod requests;
mod rights;
mod rows;
mod tenant;

pub use answer::Answer;
pub use document::{Operation, Place, Slot, operations};
pub use forge::Forge;
pub use platform::{PASSWORD, Platform};
pub use predicates::predicates;
pub use requests::{Caller, Filled, Which, send};
pub use rights::Right;
pub use rows::{Rows, SCHEMAS, audited, changes, rows_in, rows_of};
pub use tenant::{Person, Tenant, two_tenants};
