//! Memberships of users in tenants, with their roles.

mod changes;
mod error;
mod http;
mod model;
mod store;

pub use error::Error;
pub use http::routes;
pub use model::Membership;
pub use store::{
    count_owners, delete_invitation, forget_removal, has_member_with_email, insert, of_user, was_removed,
};
