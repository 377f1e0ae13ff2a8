//! The person for whom a link is.

use api::{Checks, Problem};
use clients::identity;
use ids::UserId;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Error;

/// Longest e-mail address, in bytes.
const MAX_EMAIL: usize = 254;

/// One person: exactly one of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ShareLinkRecipient)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipient {
    /// The e-mail address with which the person signs in. No user needs to have it yet.
    #[serde(default)]
    email: Option<String>,
    /// User id.
    #[serde(default)]
    user_id: Option<UserId>,
}

impl Recipient {
    /// What is stored. None if it names no one.
    pub(super) fn stored(email: Option<String>, user_id: Option<UserId>) -> Option<Self> {
        (email.is_some() || user_id.is_some()).then_some(Self { email, user_id })
    }

    pub(super) fn email(&self) -> Option<&str> {
        self.email.as_deref()
    }

    pub(super) fn user_id(&self) -> Option<UserId> {
        self.user_id
    }

    /// Checks a new recipient.
    pub(super) fn check(&self, checks: &mut Checks) {
        let is_one = self.email.is_some() != self.user_id.is_some();
        checks.require(is_one, "/recipient", "must have either `email` or `user_id`");
        if let Some(email) = &self.email {
            let is_plausible = email.len() <= MAX_EMAIL
                && !email.chars().any(|c| c.is_whitespace() || c.is_control())
                && email
                    .split_once('@')
                    .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty());
            checks.require(is_plausible, "/recipient/email", "is not an e-mail address");
        }
    }

    /// Whether this is the user with the access token `subject`. The identity service knows the address of the user.
    pub(super) async fn is(
        &self,
        user: UserId,
        subject: &SecretString,
        identity: Option<&identity::Client>,
    ) -> Result<bool, Problem> {
        let Some(email) = &self.email else { return Ok(self.user_id == Some(user)) };
        let Some(identity) = identity else { return Ok(false) };
        let account = identity.account(subject).await;
        let account = account.map_err(|cause| Error::Service { service: "The identity service", cause })?;
        Ok(account.user.email.to_lowercase() == email.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipient_is_one_person() {
        let email = |text: &str| Recipient { email: Some(text.to_owned()), user_id: None };
        let user = Recipient { email: None, user_id: Some(UserId::new()) };
        let both = Recipient { user_id: user.user_id, ..email("ann@x.test") };
        let neither = Recipient { email: None, user_id: None };
        for (recipient, valid) in [
            (email("ann@x.test"), true),
            (user, true),
            (both, false),
            (neither, false),
            (email(""), false),
            (email("@x.test"), false),
            (email("ann@"), false),
            (email("an n@x.test"), false),
            (email(&format!("{}@x.test", "a".repeat(250))), false),
        ] {
            let mut checks = Checks::default();
            recipient.check(&mut checks);
            assert_eq!(checks.finish().is_ok(), valid, "{recipient:?}");
        }
    }
}
