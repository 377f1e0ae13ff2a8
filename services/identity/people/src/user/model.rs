//! Users as clients see them.

use ids::UserId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A person who can sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct User {
    /// Id of the user.
    pub id: UserId,
    /// E-mail address to sign in with. Unique, ignoring case and Unicode forms.
    pub email: String,
    /// Name that others see.
    pub display_name: String,
    /// Whether the user is a platform administrator.
    pub admin: bool,
    /// Whether the user cannot sign in.
    pub disabled: bool,
    #[serde(skip)]
    pub generation: i64,
    /// When the user was created.
    pub created_at: Timestamp,
    /// When the user last changed.
    pub updated_at: Timestamp,
}

/// A language of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[sqlx(type_name = "text")]
pub enum Language {
    /// English.
    #[serde(rename = "en")]
    #[sqlx(rename = "en")]
    English,
    /// Chinese in simplified characters.
    #[serde(rename = "zh-CN")]
    #[sqlx(rename = "zh-CN")]
    SimplifiedChinese,
}

impl User {
    /// Whether the platform would have no administrator without this user. `admins` counts those who can sign in.
    pub fn is_last_admin(&self, admins: i64) -> bool {
        self.admin && !self.disabled && admins == 1
    }
}

/// The part of the e-mail address before the `@`.
pub fn default_display_name(email: &str) -> &str {
    email.split('@').next().unwrap_or(email)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_administrators_who_can_sign_in_count() {
        let user = |admin, disabled| User {
            id: UserId::new(),
            email: "a@b".to_owned(),
            display_name: "a".to_owned(),
            admin,
            disabled,
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        assert!(user(true, false).is_last_admin(1));
        assert!(!user(true, false).is_last_admin(2));
        assert!(!user(true, true).is_last_admin(1));
        assert!(!user(false, false).is_last_admin(1));
    }
}
