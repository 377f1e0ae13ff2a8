//! Participation in the state of a tenant. The identity service decides whether a tenant is active, suspended
//! or being deleted, and calls each service that owns data of tenants (`PUT /internal/v1/tenants/{id}`,
//! [`Client`]) until it has carried out the order. A service records the order in the table `tenants` of its
//! schema ([`record`]), stops or deletes its objects, and creates nothing for a tenant that is not active
//! ([`check_active`]).
//!
//! Each service decides what it ends: nothing here knows instances, storages or jobs.

mod client;
mod error;
mod model;
mod store;

pub use client::Client;
pub use error::Error;
pub use model::{TenantOrder, TenantProgress, TenantState};
pub use store::{check_active, find, record};
