//! The configuration of providers.

use auth::Role;
use ids::TenantId;
use secrecy::SecretString;
use serde::Deserialize;

/// An OpenID provider. Register `<public_url>/v1/sign-in/<id>/callback` there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcProvider {
    /// Id, in paths: a-z, 0-9 and -.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// The exact `issuer` of its discovery document. For Entra ID with several directories, it contains `{tenantid}`.
    pub issuer: String,
    /// The platform's client id there.
    pub client_id: String,
    /// The platform's client secret there.
    pub client_secret: SecretString,
    /// Scopes to request (default `openid`, `email`, `profile`).
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// Whether a person with a verified e-mail address that no user has becomes a user at the first sign-in.
    #[serde(default)]
    pub just_in_time: bool,
    /// Whether a person becomes the user who has their verified e-mail address. The provider can then sign in as any user:
    /// set it only for a provider that is trusted with all addresses that it verifies.
    #[serde(default)]
    pub link_verified_email: bool,
    /// Memberships that its users get with a sign-in, unless they have one in the tenant or were removed from it.
    #[serde(default)]
    pub memberships: Vec<MembershipRule>,
    /// The claims that identify a person.
    #[serde(default)]
    pub claims: OidcClaims,
    /// Claims that a person needs to sign in, such as `hd` (Google).
    #[serde(default)]
    pub required_claims: Vec<ClaimRule>,
    /// Directories of Entra ID (`tid`) whose people may sign in (default: all of the issuer).
    #[serde(default)]
    pub tenant_ids: Vec<String>,
}

/// Names of claims, or paths to them: `realm_access.roles` is `roles` in `realm_access`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OidcClaims {
    /// The e-mail address (default `email`; often `preferred_username` of Entra ID, `upn` of ADFS).
    pub email: String,
    /// Whether the provider has verified the address (default `email_verified`).
    pub email_verified: String,
    /// Whether the address counts.
    pub email_trust: EmailTrust,
    /// The name that others see (default `name`).
    pub name: String,
}

impl Default for OidcClaims {
    fn default() -> Self {
        let [email, email_verified, name] = ["email", "email_verified", "name"].map(str::to_owned);
        Self { email, email_verified, email_trust: EmailTrust::Claim, name }
    }
}

/// When an e-mail address from a provider identifies an account. With any value except `claim`, the provider
/// decides who a person is, so its administrators, not its users, must control the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmailTrust {
    /// If the provider states that it has verified the address.
    Claim,
    /// Unless the provider states that it has not verified it: for providers without such a claim.
    UnlessDenied,
    /// In any case.
    Always,
}

fn default_scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).to_vec()
}

/// A membership for people of a provider: those who fit all of its conditions, or everyone if it has none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembershipRule {
    /// The tenant.
    pub tenant: TenantId,
    /// The role in it. If several rules fit, the highest counts.
    pub role: Role,
    /// The part after the `@` of the verified e-mail address.
    #[serde(default)]
    pub email_domain: Option<String>,
    /// A claim of the ID token, such as a group.
    #[serde(default)]
    pub claim: Option<ClaimRule>,
}

/// A claim with this value, or a list that has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// Name of the claim, or the path to it: `realm_access.roles`.
    pub name: String,
    /// The value.
    pub value: String,
}
