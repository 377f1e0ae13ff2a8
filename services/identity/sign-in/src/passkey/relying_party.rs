//! The two ceremonies of the specification (WebAuthn level 3), by webauthn-rs.

use std::time::Duration;

use anyhow::{Context, ensure};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::UserId;
use people::user::User;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use webauthn_rs::prelude::{
    CredentialID, DiscoverableAuthentication, Passkey, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Url, Uuid, Webauthn, WebauthnBuilder,
};

use super::{config::PasskeyConfig, model::CHALLENGE_LIFETIME};

/// The platform, as authenticators know it: a domain and the origins of its pages.
pub struct RelyingParty {
    webauthn: Webauthn,
}

/// A challenge for an authenticator.
pub(super) struct Challenge {
    /// What the client passes to `navigator.credentials`, as JSON.
    pub(super) options: Value,
    /// The state for the second request, which the platform keeps.
    pub(super) state: Value,
    /// SHA-256 of the challenge.
    pub(super) hash: Vec<u8>,
}

impl RelyingParty {
    /// # Errors
    /// If there is no origin, or one is not below the domain.
    pub fn new(passkeys: &PasskeyConfig, public_url: Option<&Url>) -> anyhow::Result<Self> {
        let public = public_url.map(|url| url.origin().ascii_serialization().parse());
        let origins: Vec<Url> = match passkeys.origins.as_slice() {
            [] => vec![public.context("passkeys need origins or public_url")??],
            origins => origins.to_vec(),
        };
        for origin in &origins {
            let is_below = origin.domain().is_some_and(|domain| is_below(domain, &passkeys.rp_id));
            ensure!(is_below, "passkeys: {origin} is not an origin of the domain {}", passkeys.rp_id);
        }
        let [first, others @ ..] = origins.as_slice() else { anyhow::bail!("passkeys need an origin") };
        let lifetime = Duration::try_from(CHALLENGE_LIFETIME)?;
        let builder = WebauthnBuilder::new(&passkeys.rp_id, first)?.rp_name("Atelier").timeout(lifetime);
        let builder = others.iter().fold(builder, WebauthnBuilder::append_allowed_origin);
        Ok(Self { webauthn: builder.build()? })
    }

    /// Begins the registration of a passkey other than the `known` ones.
    ///
    /// # Errors
    /// If no random numbers are available.
    pub(super) fn begin_registration(
        &self,
        user: &User,
        known: Vec<CredentialID>,
    ) -> anyhow::Result<Challenge> {
        let name = user.display_name.as_str();
        let (response, state) =
            self.webauthn.start_passkey_registration(user.id.uuid(), &user.email, name, Some(known))?;
        let mut options = serde_json::to_value(&response.public_key)?;
        // sign-in without an e-mail address needs a discoverable credential
        options["authenticatorSelection"]["residentKey"] = json!("required");
        options["authenticatorSelection"]["requireResidentKey"] = json!(true);
        let hash = Sha256::digest(&response.public_key.challenge).to_vec();
        Ok(Challenge { options, state: serde_json::to_value(&state)?, hash })
    }

    /// Returns the passkey that an authenticator has made.
    ///
    /// # Errors
    /// If the credential does not answer the challenge.
    pub(super) fn finish_registration(
        &self,
        credential: &RegisterPublicKeyCredential,
        state: Value,
    ) -> anyhow::Result<Passkey> {
        let state: PasskeyRegistration = serde_json::from_value(state)?;
        Ok(self.webauthn.finish_passkey_registration(credential, &state)?)
    }

    /// Begins a sign-in with any passkey that the authenticator has for the platform.
    ///
    /// # Errors
    /// If no random numbers are available.
    pub(super) fn begin_sign_in(&self) -> anyhow::Result<Challenge> {
        let (response, state) = self.webauthn.start_discoverable_authentication()?;
        let options = serde_json::to_value(&response.public_key)?;
        let hash = Sha256::digest(&response.public_key.challenge).to_vec();
        Ok(Challenge { options, state: serde_json::to_value(&state)?, hash })
    }

    /// Checks that the passkey has signed the challenge, on a page of the platform, for a user whom it has
    /// verified; and that its signature counter has increased, if it has one. Returns whether this has
    /// changed the passkey.
    ///
    /// # Errors
    /// If one of these is not so.
    pub(super) fn finish_sign_in(
        &self,
        assertion: &PublicKeyCredential,
        state: Value,
        passkey: &mut Passkey,
    ) -> anyhow::Result<bool> {
        let state: DiscoverableAuthentication = serde_json::from_value(state)?;
        let result = self.webauthn.finish_discoverable_authentication_v2(assertion, state, &*passkey)?;
        ensure!(result.user_verified(), "the user was not verified");
        passkey.update_credential(&result).context("another passkey")
    }
}

fn is_below(domain: &str, rp_id: &str) -> bool {
    domain.strip_suffix(rp_id).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the user whose id is in an assertion. The authenticator got the id at the registration.
pub(super) fn user_of(assertion: &PublicKeyCredential) -> Option<UserId> {
    Uuid::from_slice(assertion.get_user_unique_id()?).ok().map(UserId::from_uuid)
}

/// Returns the SHA-256 of the challenge that a client claims to have answered.
pub(super) fn answered(client_data: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct ClientData {
        challenge: String,
    }
    let data: ClientData = serde_json::from_slice(client_data).ok()?;
    let challenge = URL_SAFE_NO_PAD.decode(data.challenge.trim_end_matches('=')).ok()?;
    Some(Sha256::digest(challenge).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_below_the_domain() {
        for (domain, rp_id, expected) in [
            ("atelier.test", "atelier.test", true),
            ("console.atelier.test", "atelier.test", true),
            ("evilatelier.test", "atelier.test", false),
            ("test", "atelier.test", false),
        ] {
            assert_eq!(is_below(domain, rp_id), expected, "{domain}");
        }
    }

    #[test]
    fn a_challenge_is_found_by_what_the_client_answered() {
        let hash = answered(br#"{"type":"webauthn.get","challenge":"AQID","origin":"https://x.test"}"#);
        assert_eq!(hash, Some(Sha256::digest([1, 2, 3]).to_vec()));
        for bad in [&b""[..], b"{}", br#"{"challenge":"*"}"#, br#"{"challenge":1}"#] {
            assert_eq!(answered(bad), None);
        }
    }
}
