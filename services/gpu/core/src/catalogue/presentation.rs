//! The presentation of an entry: descriptions, an icon, links. Pure.

use std::collections::BTreeMap;

use problem::{Checks, checks::pointer_to};
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

/// The longest description, in characters.
pub(super) const MAX_DESCRIPTION: usize = 1000;
/// Limit of languages.
const MAX_LANGUAGES: usize = 50;
/// Limit of links.
const MAX_LINKS: usize = 10;
/// The longest title of a link, in characters.
const MAX_TITLE: usize = 100;
/// Limit of bytes in an address.
const MAX_URL: usize = 2048;

/// A link to a page about the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceLink)]
pub struct Link {
    /// Text of the link, 1 to 100 characters.
    #[serde(deserialize_with = "problem::text::nfc")]
    pub title: String,
    /// Address, `https` or `http`.
    pub url: String,
}

pub(super) fn check_description(checks: &mut Checks, pointer: &str, text: &str) {
    checks.require(
        text.chars().count() <= MAX_DESCRIPTION,
        pointer,
        format!("must be at most {MAX_DESCRIPTION} characters"),
    );
}

/// Checks descriptions by language.
pub(super) fn check_descriptions(checks: &mut Checks, descriptions: &BTreeMap<String, String>) {
    let at = "/descriptions";
    checks.require(
        descriptions.len() <= MAX_LANGUAGES,
        at,
        format!("must have at most {MAX_LANGUAGES} languages"),
    );
    for (language, text) in descriptions.iter().take(MAX_LANGUAGES) {
        let pointer = pointer_to(at, language);
        checks.require(
            is_language_tag(language),
            &pointer,
            "the name must be a language tag such as en or zh-CN",
        );
        check_description(checks, &pointer, text);
    }
}

/// Checks the address of an icon. A page that is served with TLS shows no other.
pub(super) fn check_icon(checks: &mut Checks, icon: &str) {
    checks.require(is_web_address(icon, &["https"]), "/icon_url", "must be an https address");
}

pub(super) fn check_links(checks: &mut Checks, links: &[Link]) {
    checks.require(links.len() <= MAX_LINKS, "/links", format!("must be at most {MAX_LINKS} links"));
    for (n, link) in links.iter().enumerate().take(MAX_LINKS) {
        checks.display_name(&format!("/links/{n}/title"), &link.title, MAX_TITLE);
        let is_valid = is_web_address(&link.url, &["https", "http"]);
        checks.require(is_valid, format!("/links/{n}/url"), "must be an https or http address");
    }
}

fn is_web_address(text: &str, schemes: &[&str]) -> bool {
    let parsed = Url::parse(text).ok().filter(|_| text.len() <= MAX_URL);
    parsed.is_some_and(|url| {
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        schemes.contains(&url.scheme()) && url.has_host() && is_anonymous
    })
}

/// The form of a BCP 47 language tag: subtags of 1 to 8 letters and digits, the first of 2 to 8 letters.
fn is_language_tag(text: &str) -> bool {
    let mut subtags = text.split('-');
    let is_language = subtags
        .next()
        .is_some_and(|first| (2..=8).contains(&first.len()) && is_all(first, u8::is_ascii_alphabetic));
    is_language
        && subtags.all(|subtag| (1..=8).contains(&subtag.len()) && is_all(subtag, u8::is_ascii_alphanumeric))
}

fn is_all(text: &str, allowed: fn(&u8) -> bool) -> bool {
    text.as_bytes().iter().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_tags() {
        for tag in ["en", "de", "zh-CN", "zh-Hans-CN", "es-419", "yue"] {
            assert!(is_language_tag(tag), "{tag}");
        }
        for tag in ["", "e", "en_US", "en-", "-en", "419", "portuguese", "en us", "dé"] {
            assert!(!is_language_tag(tag), "{tag:?}");
        }
    }

    #[test]
    fn addresses_name_a_host_and_no_user() {
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL));
        for (address, valid) in [
            ("https://docs.example/webui?lang=en#top", true),
            ("http://10.0.0.1:8080/", true),
            ("ftp://a.example/", false),
            ("javascript:alert(1)", false),
            ("data:image/png;base64,AAAA", false),
            ("https://user:secret@a.example/", false),
            ("//a.example/", false),
            ("", false),
            (&long, false),
        ] {
            assert_eq!(is_web_address(address, &["https", "http"]), valid, "{address:.60}");
        }
        assert!(!is_web_address("http://a.example/icon.png", &["https"]));
    }
}
