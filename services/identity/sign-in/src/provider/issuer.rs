//! The issuers that a provider's ID tokens and accounts may have. Most providers have one. For several
//! directories, the discovery document of Entra ID has the issuer
//! `https://login.microsoftonline.com/{tenantid}/v2.0`, and each token has the issuer of its directory.

use anyhow::ensure;
use serde_json::Value;

use super::claims::Claims;
use super::config::OidcProvider;

const DIRECTORY: &str = "{tenantid}";
/// Values in place of a directory that stand for all directories.
const ALL: [&str; 2] = ["organizations", "common"];
const GOOGLE: [&str; 2] = ["https://accounts.google.com", "accounts.google.com"];

/// Returns the URL below which the provider's discovery document is.
pub(super) fn base_url(issuer: &str) -> String {
    issuer.trim_end_matches('/').replace(DIRECTORY, ALL[0])
}

/// Whether the discovery document of a provider with this configured issuer may have this issuer.
pub(super) fn may_be_described_as(issuer: &str, described: &str) -> bool {
    let is = |issuer: &str| issuer.trim_end_matches('/') == described.trim_end_matches('/');
    is(issuer) || template(issuer).is_some_and(|template| is(&template))
}

/// Returns the issuer of the account that an ID token is for.
///
/// # Errors
/// If the token is of another issuer, or of a directory whose people may not sign in.
pub(super) fn of_token(config: &OidcProvider, described: &str, claims: &Claims) -> anyhow::Result<String> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
    let (named, directory) = (text("iss"), text("tid"));
    ensure!(may_sign_in(config, directory), "people of the directory {directory:?} may not sign in");
    if described.contains(DIRECTORY) {
        let expected = described.replace(DIRECTORY, directory);
        ensure!(is_guid(directory) && named == expected, "the token is of the issuer {named}");
        return Ok(expected);
    }
    let is_google = described == GOOGLE[0] && named == GOOGLE[1];
    ensure!(named == described || is_google, "the token is of the issuer {named}");
    Ok(config.issuer.clone())
}

/// Whether people with accounts of this issuer sign in with the provider.
pub fn has_accounts_of(config: &OidcProvider, issuer: &str) -> bool {
    let in_directory = || {
        let template = template(&config.issuer)?;
        let (before, after) = template.split_once(DIRECTORY)?;
        let directory = issuer.strip_prefix(before)?.strip_suffix(after)?;
        Some(is_guid(directory) && may_sign_in(config, directory))
    };
    issuer == config.issuer || in_directory() == Some(true)
}

/// Whether the people of any directory can sign in.
pub(super) fn is_for_everyone(config: &OidcProvider) -> bool {
    config.tenant_ids.is_empty() && template(&config.issuer).is_some()
}

fn may_sign_in(config: &OidcProvider, directory: &str) -> bool {
    config.tenant_ids.is_empty() || config.tenant_ids.iter().any(|one| one.eq_ignore_ascii_case(directory))
}

/// The issuer with a placeholder for the directory, if it is not that of one directory.
fn template(issuer: &str) -> Option<String> {
    if issuer.contains(DIRECTORY) {
        return Some(issuer.to_owned());
    }
    let all = ALL.into_iter().map(|all| format!("/{all}/")).find(|all| issuer.contains(all))?;
    Some(issuer.replacen(&all, &format!("/{DIRECTORY}/"), 1))
}

fn is_guid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONE: &str = "11111111-2222-3333-4444-555555555555";
    const OTHER: &str = "99999999-2222-3333-4444-555555555555";

    fn config(issuer: &str, tenant_ids: &[&str]) -> OidcProvider {
        let provider = json!({ "id": "x", "name": "x", "issuer": issuer, "client_id": "x", "client_secret": "x",
                               "tenant_ids": tenant_ids });
        serde_json::from_value(provider).unwrap()
    }

    #[test]
    fn a_token_is_of_the_described_issuer() {
        let of = |issuer: &str, tenant_ids: &[&str], described: &str, iss: &str, tid: &str| {
            let Value::Object(claims) = json!({ "iss": iss, "tid": tid }) else { panic!("an object") };
            of_token(&config(issuer, tenant_ids), described, &claims).ok()
        };
        let entra = "https://login.test/{tenantid}/v2.0";
        let (of_one, of_other) = (entra.replace("{tenantid}", ONE), entra.replace("{tenantid}", OTHER));
        for (issuer, tenants, described, iss, tid, expected) in [
            ("https://a.test", &[][..], "https://a.test", "https://a.test", "", Some("https://a.test")),
            ("https://a.test", &[], "https://a.test/", "https://a.test/", "", Some("https://a.test")),
            ("https://a.test", &[], "https://a.test", "https://b.test", "", None),
            ("https://a.test", &[], "https://a.test", "", "", None),
            (GOOGLE[0], &[], GOOGLE[0], "accounts.google.com", "", Some(GOOGLE[0])),
            ("https://a.test", &[], "https://a.test", "a.test", "", None),
            (entra, &[], entra, &of_one, ONE, Some(of_one.as_str())),
            ("https://login.test/common/v2.0", &[], entra, &of_one, ONE, Some(&of_one)),
            (entra, &[], entra, &of_one, OTHER, None),
            (entra, &[], entra, entra, "{tenantid}", None),
            (entra, &[], entra, "https://login.test/x/v2.0", "x", None),
            (entra, &[ONE], entra, &of_one, ONE, Some(&of_one)),
            (entra, &[ONE], entra, &of_other, OTHER, None),
            (&of_one, &[ONE], &of_one, &of_one, ONE, Some(&of_one)),
            (&of_one, &[OTHER], &of_one, &of_one, ONE, None),
        ] {
            assert_eq!(of(issuer, tenants, described, iss, tid).as_deref(), expected, "{issuer} {iss} {tid}");
        }
    }

    #[test]
    fn accounts_belong_to_the_provider_of_their_issuer() {
        let entra = "https://login.test/{tenantid}/v2.0";
        let of_one = entra.replace("{tenantid}", ONE);
        for (issuer, tenants, of, expected) in [
            ("https://a.test", &[][..], "https://a.test", true),
            ("https://a.test", &[], "https://b.test", false),
            (entra, &[], of_one.as_str(), true),
            ("https://login.test/organizations/v2.0", &[], &of_one, true),
            (entra, &[OTHER], &of_one, false),
            (entra, &[], "https://login.test/x/v2.0", false),
        ] {
            assert_eq!(has_accounts_of(&config(issuer, tenants), of), expected, "{issuer} {of}");
        }
        assert!(may_be_described_as("https://login.test/common/v2.0", entra));
        assert!(may_be_described_as("https://a.test/", "https://a.test"));
        assert!(!may_be_described_as("https://a.test", "https://a.test.evil"));
        assert!(!may_be_described_as("https://a.test", entra));
        assert_eq!(base_url(entra), "https://login.test/organizations/v2.0");
    }
}
