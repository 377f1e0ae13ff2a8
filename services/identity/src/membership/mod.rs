//! Who belongs to a tenant, in which role.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{Membership, last_owner, may_read};
pub(crate) use store::{has_more_than_owners, of_user, owners, remove_all};
