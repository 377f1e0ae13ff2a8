//! What a user is.

use api::Problem;
use ids::UserId;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{password, tenant::check_name, vault::Vault};

/// A person who signs in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct User {
    /// The user's id.
    pub(crate) id: UserId,
    /// Address to sign in with, unique without regard to case.
    pub(crate) email: String,
    /// The name others see.
    pub(crate) display_name: String,
    /// Whether the user is a platform administrator.
    pub(crate) admin: bool,
    /// Whether the user is kept from signing in.
    pub(crate) disabled: bool,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// When the user was made.
    pub(crate) created_at: Timestamp,
    /// When the user last changed.
    pub(crate) updated_at: Timestamp,
}

/// A user to be made.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUser {
    /// Address to sign in with.
    pub(crate) email: String,
    /// The name others see (default: what stands before the `@`).
    #[serde(default)]
    pub(crate) display_name: Option<String>,
    /// Initial password, 8 characters to 256 bytes.
    #[schema(value_type = String, format = Password)]
    pub(crate) password: SecretString,
    /// Whether the user is a platform administrator.
    #[serde(default)]
    pub(crate) admin: bool,
}

impl NewUser {
    /// # Errors
    /// 422 naming the field.
    pub(super) fn check(&self) -> Result<(), Problem> {
        check_email("/email", &self.email)?;
        if let Some(name) = &self.display_name {
            check_name("/display_name", name)?;
        }
        password::check("/password", &self.password, &self.email)
    }

    /// The name others see.
    pub(super) fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or_else(|| self.email.split('@').next().unwrap_or(&self.email))
    }

    /// What is hashed to recognize the request: without the password itself.
    pub(super) fn recognized_by(&self, vault: &Vault) -> Value {
        json!([self.email, self.display_name, vault.fingerprint(self.password.expose_secret()), self.admin])
    }
}

/// What changes of a user; what is absent stays.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserChange {
    /// A new name.
    #[serde(default)]
    pub(crate) display_name: Option<String>,
    /// Makes the user an administrator, or no longer one. The last administrator stays one.
    #[serde(default)]
    pub(crate) admin: Option<bool>,
    /// Keeps the user from signing in, and ends all the user's sessions; or lets the user in again.
    #[serde(default)]
    pub(crate) disabled: Option<bool>,
    /// A new password; it ends all the user's sessions.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = Password)]
    pub(crate) password: Option<SecretString>,
}

impl UserChange {
    /// What is hashed to recognize the request: without the password itself.
    pub(super) fn recognized_by(&self, vault: &Vault) -> Value {
        let password = self.password.as_ref().map(|p| vault.fingerprint(p.expose_secret()));
        json!([self.display_name, self.admin, self.disabled, password])
    }
}

/// Something that can be an address: one `@` with text around it and nothing invisible.
///
/// # Errors
/// 422 naming the field.
pub(crate) fn check_email(pointer: &str, email: &str) -> Result<(), Problem> {
    let plausible = email.len() <= 254
        && !email.chars().any(|c| c.is_whitespace() || c.is_control())
        && email.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && local.len() <= 64 && !domain.is_empty() && !domain.contains('@')
        });
    if plausible { Ok(()) } else { Err(Problem::invalid_field(pointer, "is not an e-mail address")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in ["a@b", "designer@example.com", "Ünï@bücher.de", "a+b@c.d"] {
            assert!(check_email("", good).is_ok(), "{good}");
        }
        let long = format!("{}@x", "a".repeat(65));
        for bad in ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n", long.as_str()] {
            assert!(check_email("", bad).is_err(), "{bad:?}");
        }
    }
}
