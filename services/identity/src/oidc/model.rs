//! Who signed in, and to which tenants they belong by the configured rules.

use auth::Role;
use ids::{LinkedAccountId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::claims::{self, Claims};
use crate::config::{ClaimRule, MembershipRule, OidcClaims};

/// A provider with whose accounts people sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct SignInProvider {
    /// Id of the provider.
    pub(super) id: String,
    /// Name to show.
    pub(super) name: String,
    /// Path that begins a sign-in, for a link.
    pub(super) path: String,
}

/// A list of providers.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct SignInProviders {
    /// The providers, in the order of the configuration.
    pub(super) items: Vec<SignInProvider>,
}

/// An account of a provider with which the caller can sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct LinkedAccount {
    /// Id of the linked account.
    pub(super) id: LinkedAccountId,
    /// Id of the provider; null if it is no longer configured, so that the account does not sign in.
    pub(super) provider: Option<String>,
    /// Issuer of the account.
    pub(super) issuer: String,
    /// The issuer's id of the account.
    pub(super) subject: String,
    /// When the account was linked.
    pub(super) created_at: Timestamp,
    /// When the user last signed in with the account, or when it was linked.
    pub(super) last_used_at: Timestamp,
}

/// An account to link.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAccountLink {
    /// Id of the provider.
    pub(super) provider: String,
    /// Path to which the browser goes afterwards (default `/`). After a failure it has the parameter `sign_in_error`, the
    /// last segment of a problem type.
    #[serde(default)]
    pub(super) return_to: Option<String>,
}

/// Where an account is linked.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AccountLink {
    /// The provider's page to which to send the browser.
    pub(super) url: String,
}

/// A person, as the provider describes them.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) issuer: String,
    pub(super) subject: String,
    /// Only if it is theirs: an address proves nothing otherwise.
    pub(super) email: Option<String>,
    pub(super) name: Option<String>,
    claims: Claims,
}

impl Person {
    /// Reads the claims of an ID token and of user info. Returns none without a subject.
    pub(super) fn of(issuer: String, claims: Claims, names: &OidcClaims) -> Option<Self> {
        let text = |name: &str| claims::find(&claims, name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            issuer,
            subject: text("sub").filter(|subject| !subject.is_empty())?,
            email: claims::email(&claims, names),
            name: text(&names.name),
            claims,
        })
    }

    /// Whether the person has all of these claims.
    pub(super) fn has(&self, required: &[ClaimRule]) -> bool {
        required.iter().all(|rule| claims::fits(&self.claims, rule))
    }

    /// Returns the memberships that the rules give, one for each tenant: the highest role counts.
    pub(super) fn memberships(&self, rules: &[MembershipRule]) -> Vec<(TenantId, Role)> {
        let mut found: Vec<(TenantId, Role)> = Vec::new();
        for rule in rules.iter().filter(|rule| self.fits(rule)) {
            match found.iter_mut().find(|(tenant, _)| *tenant == rule.tenant) {
                Some((_, role)) => *role = (*role).max(rule.role),
                None => found.push((rule.tenant, rule.role)),
            }
        }
        found
    }

    fn fits(&self, rule: &MembershipRule) -> bool {
        let domain = rule.email_domain.as_ref().is_none_or(|domain| {
            let own = self.email.as_ref().and_then(|email| email.rsplit_once('@'));
            own.is_some_and(|(_, own)| own.eq_ignore_ascii_case(domain))
        });
        let claim = rule.claim.as_ref().is_none_or(|claim| claims::fits(&self.claims, claim));
        domain && claim
    }
}

/// Returns whether a browser may be sent to this path after the sign-in: it leads to the same origin, whatever program reads
/// it.
pub(super) fn is_own_path(path: &str) -> bool {
    let rest = path.strip_prefix('/');
    let visible = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    visible && path.len() <= 500 && rest.is_some_and(|rest| !rest.starts_with('/'))
}

/// The path with a parameter that says why the sign-in failed.
pub(super) fn with_error(path: &str, slug: &str) -> String {
    let (path, fragment) = path.split_once('#').map_or((path, None), |(path, rest)| (path, Some(rest)));
    let separator = if path.contains('?') { '&' } else { '?' };
    let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
    format!("{path}{separator}sign_in_error={slug}{fragment}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn person(claims: Value) -> Option<Person> {
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        Person::of("https://corp.test".to_owned(), claims, &OidcClaims::default())
    }

    #[test]
    fn a_person_has_a_subject() {
        assert!(person(json!({ "email": "a@b.test" })).is_none());
        assert!(person(json!({ "sub": "" })).is_none());
    }

    #[test]
    fn rules_give_memberships() {
        let (all, domain, group) = (TenantId::new(), TenantId::new(), TenantId::new());
        let rule = |tenant, role| MembershipRule { tenant, role, email_domain: None, claim: None };
        let of_group = |value: &str| Some(ClaimRule { name: "groups".to_owned(), value: value.to_owned() });
        let rules = [
            rule(all, Role::Viewer),
            MembershipRule { email_domain: Some("Studio.test".to_owned()), ..rule(domain, Role::Member) },
            MembershipRule { claim: of_group("artists"), ..rule(group, Role::Member) },
            MembershipRule { claim: of_group("leads"), ..rule(group, Role::Owner) },
        ];
        let of = |claims: Value| person(claims).unwrap().memberships(&rules);
        assert_eq!(of(json!({ "sub": "1" })), [(all, Role::Viewer)]);
        let email = |email: &str, verified: bool| {
            of(json!({ "sub": "1", "email": email, "email_verified": verified }))
        };
        assert_eq!(email("a@studio.test", true), [(all, Role::Viewer), (domain, Role::Member)]);
        assert_eq!(email("a@studio.test", false), [(all, Role::Viewer)]);
        assert_eq!(email("a@studio.test.evil", true), [(all, Role::Viewer)]);
        assert_eq!(email("studio.test@evil", true), [(all, Role::Viewer)]);
        let groups = |groups: Value| of(json!({ "sub": "1", "groups": groups }));
        assert_eq!(groups(json!(["x", "artists"])), [(all, Role::Viewer), (group, Role::Member)]);
        assert_eq!(groups(json!(["artists", "leads"])), [(all, Role::Viewer), (group, Role::Owner)]);
        assert_eq!(groups(json!("leads")), [(all, Role::Viewer), (group, Role::Owner)]);
        assert_eq!(groups(json!({ "leads": true })), [(all, Role::Viewer)]);
    }

    #[test]
    fn only_paths_of_the_own_origin_are_returned_to() {
        for good in ["/", "/instances?x=1#y", "/a/b"] {
            assert!(is_own_path(good), "{good}");
        }
        for bad in
            ["", "//evil.test", "/\\evil.test", "https://evil.test", "x", "/a b", "/\n/evil.test", "/ü"]
        {
            assert!(!is_own_path(bad), "{bad:?}");
        }
        assert_eq!(with_error("/a", "x"), "/a?sign_in_error=x");
        assert_eq!(with_error("/a?b=1#c", "x"), "/a?b=1&sign_in_error=x#c");
    }
}
