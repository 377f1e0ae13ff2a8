//! The recipient of a link for one person.

use api::{Checks, Problem};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Longest e-mail address, in bytes.
const MAX_EMAIL: usize = 254;

/// One person, of any tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ShareLinkRecipient)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipient {
    /// The e-mail address with which the person signs in. No user needs to have it yet.
    #[serde(deserialize_with = "api::email::deserialize")]
    pub(super) email: String,
}

impl Recipient {
    /// Checks a new recipient.
    pub(super) fn check(&self, checks: &mut Checks) {
        let is_plausible = self.email.len() <= MAX_EMAIL
            && !self.email.chars().any(|c| c.is_whitespace() || c.is_control())
            && self
                .email
                .split_once('@')
                .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty());
        checks.require(is_plausible, "/recipient/email", "is not an e-mail address");
    }

    /// Whether the recipient is the user with the access token `subject`. The identity service knows the
    /// address of the user.
    pub(super) async fn is(
        &self,
        subject: &SecretString,
        identity: Option<&identity_api::Client>,
    ) -> Result<bool, Problem> {
        let Some(identity) = identity else { return Ok(false) };
        let account = identity.account(subject).await;
        let account = account.map_err(|cause| cause.into_problem("The identity service"))?;
        let form = |email: &str| api::email::canonical(email).to_lowercase();
        Ok(form(&account.user.email) == form(&self.email))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipient_has_an_email_address() {
        for (email, valid) in [
            ("ann@x.test", true),
            ("", false),
            ("@x.test", false),
            ("ann@", false),
            ("an n@x.test", false),
            (&format!("{}@x.test", "a".repeat(250)), false),
        ] {
            let mut checks = Checks::default();
            Recipient { email: email.to_owned() }.check(&mut checks);
            assert_eq!(checks.finish().is_ok(), valid, "{email}");
        }
    }
}
