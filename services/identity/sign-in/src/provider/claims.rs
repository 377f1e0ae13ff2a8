//! Claims of ID tokens and of user info, in the forms that providers use.

use serde_json::{Map, Value};

use super::config::{ClaimRule, EmailTrust, OidcClaims};

pub(super) type Claims = Map<String, Value>;

/// Returns the claim with this name, or at this path: `realm_access.roles` is `roles` in `realm_access`. Names may have dots.
pub(super) fn find<'c>(claims: &'c Claims, path: &str) -> Option<&'c Value> {
    if let Some(value) = claims.get(path) {
        return Some(value);
    }
    path.match_indices('.').find_map(|(at, _)| match claims.get(&path[..at]) {
        Some(Value::Object(inner)) => find(inner, &path[at + 1..]),
        _ => None,
    })
}

/// Returns whether a claim is the value of the rule, or a list that has it.
pub(super) fn fits(claims: &Claims, rule: &ClaimRule) -> bool {
    let is = |value: &Value| match value {
        Value::String(text) => *text == rule.value,
        Value::Bool(flag) => rule.value == if *flag { "true" } else { "false" },
        Value::Number(number) => number.to_string() == rule.value,
        _ => false,
    };
    match find(claims, &rule.name) {
        Some(Value::Array(values)) => values.iter().any(is),
        Some(value) => is(value),
        None => false,
    }
}

/// Returns the e-mail address, if the provider, or its configuration, confirms that it belongs to the person.
pub(super) fn email(claims: &Claims, names: &OidcClaims) -> Option<String> {
    let address = find(claims, &names.email).and_then(Value::as_str)?;
    let said = find(claims, &names.email_verified).and_then(truth);
    let is_theirs = match names.email_trust {
        EmailTrust::Claim => said == Some(true),
        EmailTrust::UnlessDenied => said != Some(false),
        EmailTrust::Always => true,
    };
    is_theirs.then(|| address.to_owned())
}

/// A Boolean, as providers send it.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.eq_ignore_ascii_case("true") || text == "1" => Some(true),
        Value::Number(number) if number.as_u64() == Some(1) => Some(true),
        Value::Null => None,
        _ => Some(false),
    }
}

/// Adds claims from the user info that the ID token lacks. A claim about the verification of an address concerns that
/// address only.
pub(super) fn add_user_info(claims: &mut Claims, mut more: Claims, names: &OidcClaims) {
    let verified = top(&names.email_verified);
    let told = find(claims, &names.email);
    if told.is_none() {
        claims.remove(verified);
    } else if told != find(&more, &names.email) {
        more.remove(verified);
    }
    for (name, value) in more {
        claims.entry(name).or_insert(value);
    }
}

/// The member of the claims that has a path.
fn top(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        let Value::Object(claims) = value else { panic!("claims are an object") };
        claims
    }

    #[test]
    fn a_claim_is_found_by_its_name_or_path() {
        let claims = claims(json!({
            "groups": ["a"], "https://corp.test/roles": "lead", "realm_access": { "roles": ["x"] },
            "resource_access": { "atelier.test": { "roles": ["y"] } }, "a": { "b": 1 }, "a.b": 2,
        }));
        for (path, value) in [
            ("groups", Some(json!(["a"]))),
            ("https://corp.test/roles", Some(json!("lead"))),
            ("realm_access.roles", Some(json!(["x"]))),
            ("resource_access.atelier.test.roles", Some(json!(["y"]))),
            ("a.b", Some(json!(2))),
            ("realm_access.groups", None),
            ("groups.0", None),
            ("realm_access.", None),
            (".roles", None),
            ("", None),
        ] {
            assert_eq!(find(&claims, path), value.as_ref(), "{path}");
        }
    }

    #[test]
    fn a_rule_fits_a_value_or_a_list_that_has_it() {
        let fits = |claim: Value, value: &str| {
            let rule = ClaimRule { name: "x".to_owned(), value: value.to_owned() };
            fits(&claims(json!({ "x": claim })), &rule)
        };
        for (claim, value, expected) in [
            (json!("artists"), "artists", true),
            (json!(["x", "artists"]), "artists", true),
            (json!("artists,leads"), "artists", false),
            (json!(["artists and leads"]), "artists", false),
            (json!(true), "true", true),
            (json!([7]), "7", true),
            (json!({ "artists": true }), "artists", false),
            (json!(null), "null", false),
        ] {
            assert_eq!(fits(claim.clone(), value), expected, "{claim} {value}");
        }
    }

    #[test]
    fn an_address_counts_as_the_provider_and_the_configuration_say() {
        use EmailTrust::{Always, Claim, UnlessDenied};
        for (verified, trust, expected) in [
            (json!(true), Claim, true),
            (json!("true"), Claim, true),
            (json!("True"), Claim, true),
            (json!(1), Claim, true),
            (json!("1"), Claim, true),
            (json!(false), Claim, false),
            (json!("false"), Claim, false),
            (json!("yes"), Claim, false),
            (json!(null), Claim, false),
            (json!(null), UnlessDenied, true),
            (json!(true), UnlessDenied, true),
            (json!(false), UnlessDenied, false),
            (json!("0"), UnlessDenied, false),
            (json!(false), Always, true),
            (json!(null), Always, true),
        ] {
            let names = OidcClaims { email_trust: trust, ..OidcClaims::default() };
            let claims = claims(json!({ "email": "a@b.test", "email_verified": verified }));
            assert_eq!(email(&claims, &names).is_some(), expected, "{verified} {trust:?}");
        }
        let names = OidcClaims {
            email: "upn".to_owned(),
            email_verified: "xms_edov".to_owned(),
            ..OidcClaims::default()
        };
        let claims = claims(json!({ "email": "other@b.test", "upn": "a@b.test", "xms_edov": "1" }));
        assert_eq!(email(&claims, &names).as_deref(), Some("a@b.test"));
    }

    #[test]
    fn user_info_adds_what_the_token_lacks() {
        let names = OidcClaims::default();
        let with = |token: Value, info: Value| {
            let mut claims = claims(token);
            add_user_info(&mut claims, self::claims(info), &names);
            email(&claims, &names)
        };
        let own = Some("a@b.test".to_owned());
        let verified = json!({ "email": "a@b.test", "email_verified": true });
        assert_eq!(with(json!({}), verified.clone()), own);
        assert_eq!(with(json!({ "email": "a@b.test" }), verified.clone()), own);
        // of another address
        assert_eq!(with(json!({ "email": "boss@b.test" }), verified), None);
        assert_eq!(with(json!({ "email": "boss@b.test" }), json!({ "email_verified": true })), None);
        assert_eq!(with(json!({ "email_verified": true }), json!({ "email": "boss@b.test" })), None);
        let denied = json!({ "email": "a@b.test", "email_verified": false });
        assert_eq!(with(denied, json!({ "email": "a@b.test", "email_verified": true })), None);
    }
}
