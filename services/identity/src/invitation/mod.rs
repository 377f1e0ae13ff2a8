//! Invitations of people to a tenant, by e-mail address. An owner neither learns whether the address has an account,
//! nor adds anyone without their consent.
//!
//! A row is an open invitation. It is not valid while its inviter cannot manage the tenant, that is, is
//! disabled or neither its owner nor an administrator. It ends with the inviter's account. An invitation by
//! another manager makes it valid again.

mod changes;
mod clean_up;
mod error;
mod http;
mod model;
mod store;

use error::Error;

pub(crate) use clean_up::clean_up;
pub(crate) use http::routes;
