//! E-mail addresses, in one form: what a person types on another keyboard or system is the same address (RFC 8265 for the part
//! before the `@`, IDNA for the domain).

use serde::{Deserialize, Deserializer};
use unicode_normalization::UnicodeNormalization as _;

use crate::error::Error;

/// Returns the address in the form in which it is stored and compared: composed characters of normal width, a domain in letters
/// instead of `xn--…`, and letters besides A to Z in lower case. The case of A to Z stays, and the database ignores it.
pub(crate) fn canonical(email: &str) -> String {
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
/// If the value is no text.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(canonical(&String::deserialize(deserializer)?))
}

/// The characters of which one of the block "Halfwidth and Fullwidth Forms" is a form.
fn normal_width(c: char) -> impl Iterator<Item = char> {
    let is_form = ('\u{ff00}'..='\u{ffef}').contains(&c);
    let (as_is, normal) = if is_form { (None, Some(std::iter::once(c).nfkc())) } else { (Some(c), None) };
    as_is.into_iter().chain(normal.into_iter().flatten())
}

fn lower_unless_ascii(c: char) -> impl Iterator<Item = char> {
    let (as_is, lower) = if c.is_ascii() { (Some(c), None) } else { (None, Some(c.to_lowercase())) };
    as_is.into_iter().chain(lower.into_iter().flatten())
}

/// Checks that the text can be an e-mail address: one `@` with text around it, no invisible characters.
///
/// # Errors
/// Names the field.
pub(crate) fn check_email(pointer: &'static str, email: &str) -> Result<(), Error> {
    let plausible = email.len() <= 254
        && !email.chars().any(|c| c.is_whitespace() || c.is_control())
        && email.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && local.len() <= 64 && !domain.is_empty() && !domain.contains('@')
        });
    if plausible { Ok(()) } else { Err(Error::invalid(pointer, "is not an e-mail address")) }
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

    #[test]
    fn an_address_has_one_at_sign_with_text_around_it() {
        let longest = format!("{}@{}", "a".repeat(64), "b".repeat(189));
        for good in ["a@b", "designer@example.com", "Ünï@bücher.de", "a+b@c.d", &longest] {
            assert!(check_email("", good).is_ok(), "{good}");
        }
        let (long, long_local) = (format!("{longest}b"), format!("{}@x", "a".repeat(65)));
        for bad in ["", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\n", "a\u{7f}@b", &long, &long_local] {
            assert!(check_email("", bad).is_err(), "{bad:?}");
        }
    }
}
