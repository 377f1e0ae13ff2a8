//! Users as administrators create and change them, and the rules for it.

use encryption::Cipher;
use people::{
    field::InvalidField,
    session::EndReason,
    tenant::check_name,
    user::{check_email, default_display_name},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use sign_in::password;
use utoipa::ToSchema;

/// A user to create.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUser {
    /// E-mail address to sign in with.
    #[serde(deserialize_with = "api::email::deserialize")]
    pub(crate) email: String,
    /// Name that others see (default: the part of the e-mail address before the `@`).
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    pub(crate) display_name: Option<String>,
    /// Initial password: at least 8 characters, at most 256 bytes.
    #[schema(value_type = String, format = Password)]
    pub(crate) password: SecretString,
    /// Whether the user is a platform administrator.
    #[serde(default)]
    pub(crate) admin: bool,
}

impl NewUser {
    /// # Errors
    /// Names the first field that is not valid.
    pub(super) fn check(&self) -> Result<(), InvalidField> {
        check_email("/email", &self.email)?;
        if let Some(name) = &self.display_name {
            check_name("/display_name", name)?;
        }
        password::check("/password", &self.password, &self.email)
    }

    /// The display name, or its default.
    pub(super) fn display_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or_else(|| default_display_name(&self.email))
    }

    /// The content that identifies a repeated request, with a keyed fingerprint instead of the password.
    pub(super) fn identity(&self, cipher: &Cipher) -> Value {
        json!([self.email, self.display_name, cipher.fingerprint(self.password.expose_secret()), self.admin])
    }
}

/// A change of a user. Absent members stay unchanged.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserChange {
    /// A new name.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    pub(crate) display_name: Option<String>,
    /// Whether the user is a platform administrator. The last administrator must remain one.
    #[serde(default)]
    pub(crate) admin: Option<bool>,
    /// `true` keeps the user from signing in and ends all sessions of the user. `false` allows sign-in again.
    #[serde(default)]
    pub(crate) disabled: Option<bool>,
    /// A new password. It ends all sessions of the user.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = Password)]
    pub(crate) password: Option<SecretString>,
}

impl UserChange {
    /// # Errors
    /// Names the first field that is not valid.
    pub(super) fn check(&self) -> Result<(), InvalidField> {
        if let Some(name) = &self.display_name {
            check_name("/display_name", name)?;
        }
        match &self.password {
            Some(password) => password::check("/password", password, ""),
            None => Ok(()),
        }
    }

    /// Whether the change removes an administrator, or prevents one from signing in.
    pub(super) fn removes_admin(&self) -> bool {
        self.disabled == Some(true) || self.admin == Some(false)
    }

    /// Why the change ends all sessions of the user, if it does.
    pub(super) fn ends_sessions(&self) -> Option<EndReason> {
        if self.disabled == Some(true) {
            return Some(EndReason::UserDisabled);
        }
        self.password.as_ref().map(|_| EndReason::PasswordChanged)
    }

    /// The content that identifies a repeated request, with a fingerprint instead of the password.
    pub(super) fn identity(&self, cipher: &Cipher) -> Value {
        let password = self.password.as_ref().map(|p| cipher.fingerprint(p.expose_secret()));
        json!([self.display_name, self.admin, self.disabled, password])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(json: serde_json::Value) -> UserChange {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn disabling_and_demoting_remove_an_administrator() {
        for (json, removes) in [
            (json!({}), false),
            (json!({ "disabled": true }), true),
            (json!({ "disabled": false }), false),
            (json!({ "admin": false }), true),
            (json!({ "admin": true }), false),
        ] {
            assert_eq!(change(json.clone()).removes_admin(), removes, "{json}");
        }
    }

    #[test]
    fn disabling_and_a_new_password_end_sessions() {
        for (json, reason) in [
            (json!({ "display_name": "x", "admin": true }), None),
            (json!({ "disabled": true, "password": "a new password" }), Some(EndReason::UserDisabled)),
            (json!({ "disabled": false, "password": "a new password" }), Some(EndReason::PasswordChanged)),
            (json!({ "disabled": false }), None),
        ] {
            assert_eq!(change(json.clone()).ends_sessions(), reason, "{json}");
        }
    }

    #[test]
    fn the_display_name_defaults_to_the_local_part() {
        let new = |name: Option<&str>| NewUser {
            email: "ada@x.test".to_owned(),
            display_name: name.map(str::to_owned),
            password: "whatever".into(),
            admin: false,
        };
        assert_eq!(new(None).display_name(), "ada");
        assert_eq!(new(Some("Ada L.")).display_name(), "Ada L.");
    }
}
