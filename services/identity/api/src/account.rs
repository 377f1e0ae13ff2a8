//! A user's account, the part that other services read.

use serde::Deserialize;

/// The account of a user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The user.
    pub user: AccountUser,
}

/// The user of an account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AccountUser {
    /// E-mail address.
    pub email: String,
}
