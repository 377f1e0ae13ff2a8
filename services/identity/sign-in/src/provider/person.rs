//! The person who signed in, and their tenants by the configured rules.

use auth::Role;
use ids::TenantId;
use serde_json::Value;

use super::claims::{self, Claims};
use super::config::{ClaimRule, MembershipRule, OidcClaims};

/// A person, as the provider describes them.
#[derive(Debug, Clone)]
pub struct Person {
    pub issuer: String,
    pub subject: String,
    /// Only if the person is known to own it: otherwise an address proves nothing.
    pub email: Option<String>,
    pub name: Option<String>,
    claims: Claims,
}

impl Person {
    /// Reads the claims of an ID token and of user info. Returns none without a subject.
    pub fn of(issuer: String, claims: Claims, names: &OidcClaims) -> Option<Self> {
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
    pub fn has(&self, required: &[ClaimRule]) -> bool {
        required.iter().all(|rule| claims::fits(&self.claims, rule))
    }

    /// Returns the memberships that the rules give, one for each tenant: the highest role counts.
    pub fn memberships(&self, rules: &[MembershipRule]) -> Vec<(TenantId, Role)> {
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
}
