//! API keys: long-lived credentials of scripts. A key acts for its user, in its tenant, with its scopes and with the role
//! that the user has at the time.
//!
//! Only the gateway sees keys of callers: it exchanges them here for access tokens that live for minutes
//! ([ADR 20](../../../docs/adr/0020-credentials-are-exchanged.md)). Only hashes are stored. The end of a key
//! is published as the end of a session, [`auth::session_of`] the key.

mod changes;
mod error;
mod exchange;
mod http;
mod model;
mod reconcile;
mod store;

pub(crate) use error::Error;
pub(crate) use exchange::{ApiKeys, exchange};
pub(crate) use http::routes;
pub(crate) use reconcile::run;
pub(crate) use store::expiry;
