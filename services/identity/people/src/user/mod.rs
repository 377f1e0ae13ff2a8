//! Users, who can sign in. Their changes and their end are in `account`, which is not part of this crate.

mod email;
mod error;
mod model;
pub mod store;

pub use email::check_email;
pub use error::Error;
pub use model::{Language, User, default_display_name};
pub use store::{find, find_account, insert, lock_shared, password_hash};
