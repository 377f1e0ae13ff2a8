//! Memberships of users in tenants, with their roles.

mod changes;
mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{Membership, may_read};
pub(crate) use store::{
    count_owners, delete_all, forget_removal, has_member_with_email, has_more_than_owners, insert, of_user,
    was_removed,
};
