//! E-mail addresses in a canonical form, so that input from another keyboard or system gives the same address (RFC 8265
//! for the part before the `@`, IDNA for the domain).

use serde::{Deserialize, Deserializer};
use unicode_normalization::UnicodeNormalization as _;

/// Returns the address in the form in which it is stored and compared: composed characters of normal width, a domain in letters
/// instead of `xn--…`, and letters besides A to Z in lower case. The case of A to Z stays: ignore it in comparisons.
#[must_use]
pub fn canonical(email: &str) -> String {
    let text: String = email.chars().flat_map(normal_width).nfc().collect();
    let Some((local, domain)) = text.rsplit_once('@') else { return text };
    let local: String = local.chars().flat_map(lower_unless_ascii).nfc().collect();
    let is_plain = domain.is_ascii() && !domain.to_ascii_lowercase().contains("xn--");
    let (letters, valid) = idna::domain_to_unicode(domain);
    let domain = if is_plain || valid.is_err() { domain } else { &letters };
    format!("{local}@{domain}")
}

/// Reads an address as [`canonical`].
///
/// # Errors
/// If the value is not text.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(canonical(&String::deserialize(deserializer)?))
}

/// The characters for a character of the block "Halfwidth and Fullwidth Forms".
fn normal_width(c: char) -> impl Iterator<Item = char> {
    let is_form = ('\u{ff00}'..='\u{ffef}').contains(&c);
    let (as_is, normal) = if is_form { (None, Some(std::iter::once(c).nfkc())) } else { (Some(c), None) };
    as_is.into_iter().chain(normal.into_iter().flatten())
}

fn lower_unless_ascii(c: char) -> impl Iterator<Item = char> {
    let (as_is, lower) = if c.is_ascii() { (Some(c), None) } else { (None, Some(c.to_lowercase())) };
    as_is.into_iter().chain(lower.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        for (typed, form) in [
            ("Ada@Example.test", "Ada@Example.test"),
            ("ko\u{308}hler@x.test", "k\u{f6}hler@x.test"),
            ("K\u{d6}HLER@x.test", "K\u{f6}HLER@x.test"),
            ("a@xn--bcher-kva.de", "a@b\u{fc}cher.de"),
            ("a@XN--BCHER-KVA.de", "a@b\u{fc}cher.de"),
            ("a@B\u{dc}CHER.de", "a@b\u{fc}cher.de"),
            ("a@bu\u{308}cher.de", "a@b\u{fc}cher.de"),
            ("\u{ff41}\u{ff20}x.test", "a@x.test"),
            ("no address", "no address"),
            ("a@xn--\u{ff0d}", "a@xn---"),
        ] {
            assert_eq!(canonical(typed), form, "{typed}");
            assert_eq!(canonical(form), form, "{form} is the form");
        }
    }
}
