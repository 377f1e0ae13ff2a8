//! A user's account, the part that other services read.

use serde::Deserialize;

/// The account of a user: the fields that callers read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The user.
    pub user: AccountUser,
}

/// The user of an account: the fields that callers read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AccountUser {
    /// E-mail address.
    pub email: String,
}
