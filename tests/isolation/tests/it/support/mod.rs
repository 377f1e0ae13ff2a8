//! The platform in one process, for tests of what separates tenants: the real services of platform.toml behind the real
//! gateway, the real operator, a development cluster, an object store and Postgres. Two tenants own one of everything; requests are generated from the OpenAPI document that the gateway serves.
//!
//! A new operation is covered without a change here, unless a test says what to add.

mod answer;
mod document;
mod fill;
mod forge;
mod platform;
mod predicates;
mod requests;
mod rights;
mod rows;
mod tenant;

pub(crate) use answer::Answer;
pub(crate) use document::{Operation, Place, Slot, documents, operations};
pub(crate) use fill::fill;
pub(crate) use forge::Forge;
pub(crate) use platform::{PASSWORD, Platform, Service};
pub(crate) use predicates::predicates;
pub(crate) use requests::{Caller, Which, send, ssh_key};
pub(crate) use rights::Right;
pub(crate) use rows::{Rows, audited, changes, rows_in, rows_of, schemas};
pub(crate) use tenant::{Person, Tenant, two_tenants};
