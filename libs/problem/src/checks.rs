//! Field checks: all errors of a request at once, each with its JSON pointer.

use std::{collections::BTreeMap, fmt::Display};

use crate::details::FieldError;

/// Invalid fields, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.summary())]
pub struct Invalid(Vec<FieldError>);

impl Invalid {
    /// One field.
    pub fn field(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self(vec![FieldError { pointer: pointer.into(), detail: detail.into() }])
    }

    /// Returns the errors.
    #[must_use]
    pub fn into_errors(self) -> Vec<FieldError> {
        self.0
    }

    fn summary(&self) -> String {
        let errors = self.0.iter().map(|error| format!("{}: {}", error.pointer, error.detail));
        errors.collect::<Vec<_>>().join("; ")
    }
}

/// Collects the errors of a request.
#[derive(Debug, Default)]
pub struct Checks(Vec<FieldError>);

impl Checks {
    /// Adds an error unless `valid`.
    pub fn require(&mut self, valid: bool, pointer: impl Into<String>, detail: impl Into<String>) {
        if !valid {
            self.refuse(pointer, detail);
        }
    }

    /// Adds an error.
    pub fn refuse(&mut self, pointer: impl Into<String>, detail: impl Into<String>) {
        self.0.push(FieldError { pointer: pointer.into(), detail: detail.into() });
    }

    /// Requires an RFC 1123 label: the form of Kubernetes object names and parts of host names.
    pub fn name(&mut self, pointer: &str, text: &str) {
        self.require(
            is_dns_label(text),
            pointer,
            "must be 1 to 63 of a-z, 0-9 and -, and begin and end with a letter or digit",
        );
    }

    /// Requires a name for people: 1 to `most` characters, all visible or spaces inside, so that no name looks like
    /// another or reverses the text around it.
    pub fn display_name(&mut self, pointer: &str, text: &str, most: usize) {
        self.require(
            is_display_name(text, most),
            pointer,
            format!(
                "must be 1 to {most} characters, without control or invisible characters and outer spaces"
            ),
        );
    }

    /// Requires the value of a Kubernetes label that is not empty.
    pub fn label_value(&mut self, pointer: &str, text: &str) {
        self.require(
            is_label_value(text) && !text.is_empty(),
            pointer,
            "must be 1 to 63 of A-Z, a-z, 0-9, -, _ and ., and begin and end with a letter or digit",
        );
    }

    /// Requires a value between `least` and `most`, both included.
    pub fn within<T: Copy + PartialOrd + Display>(&mut self, pointer: &str, value: T, least: T, most: T) {
        self.require((least..=most).contains(&value), pointer, format!("must be between {least} and {most}"));
    }

    /// Requires 1 to `most` bytes.
    pub fn length(&mut self, pointer: &str, text: &str, most: usize) {
        self.require((1..=most).contains(&text.len()), pointer, format!("must be 1 to {most} characters"));
    }

    /// Requires an ISO 4217 code: three capital letters.
    pub fn currency(&mut self, pointer: &str, text: &str) {
        self.require(
            text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()),
            pointer,
            "must be three capital letters (ISO 4217)",
        );
    }

    /// Requires at most 16 Kubernetes labels.
    pub fn labels(&mut self, pointer: &str, labels: &BTreeMap<String, String>) {
        self.require(labels.len() <= 16, pointer, "must have at most 16 entries");
        for (key, value) in labels {
            let at = pointer_to(pointer, key);
            self.require(is_label_key(key), &at, "is not a Kubernetes label key");
            self.require(is_label_value(value), &at, "is not a Kubernetes label value");
        }
    }

    /// Requires text that the database can compare with names: at most 253 bytes, without NUL.
    pub fn text(&mut self, pointer: &str, text: Option<&str>) {
        let fits = text.is_none_or(|text| text.len() <= 253 && !text.contains('\0'));
        self.require(fits, pointer, "must be at most 253 bytes, without NUL");
    }

    /// Returns the errors.
    #[must_use]
    pub fn into_errors(self) -> Vec<FieldError> {
        self.0
    }

    /// Ends the checks.
    ///
    /// # Errors
    /// All errors, if there are any.
    pub fn finish(self) -> Result<(), Invalid> {
        if self.0.is_empty() { Ok(()) } else { Err(Invalid(self.0)) }
    }
}

impl Extend<FieldError> for Checks {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

/// Returns whether the text is a name for people; see [`Checks::display_name`].
#[must_use]
pub fn is_display_name(text: &str, most: usize) -> bool {
    if !(1..=most).contains(&text.chars().count()) || text.trim() != text {
        return false;
    }
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if is_invisible(c) && !(c == ZWJ && is_emoji_end(before) && is_emoji(characters.peek().copied())) {
            return false;
        }
        before = Some(c);
    }
    true
}

/// Zero width joiner: makes one emoji of several.
const ZWJ: char = '\u{200d}';

fn is_invisible(c: char) -> bool {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
    // letters and symbols without a shape
    let filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' | '\u{34f}');
    let category = c.general_category();
    filler
        || matches!(
            category,
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
        )
}

fn is_emoji(c: Option<char>) -> bool {
    use unicode_properties::UnicodeEmoji as _;
    c.is_some_and(|c| !c.is_ascii() && c.is_emoji_char())
}

/// Whether an emoji can end with this: an emoji itself, a skin tone or the emoji variation selector.
fn is_emoji_end(c: Option<char>) -> bool {
    c == Some('\u{fe0f}') || is_emoji(c)
}

/// Returns the JSON pointer (RFC 6901) of a member or item below `parent`.
#[must_use]
pub fn pointer_to(parent: &str, token: impl Display) -> String {
    format!("{parent}/{}", token.to_string().replace('~', "~0").replace('/', "~1"))
}

/// Returns whether the text is an RFC 1123 label.
#[must_use]
pub fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    ends_fit(text, inner) && text.bytes().all(|b| inner(b) || b == b'-')
}

/// Returns whether the text is an RFC 1123 subdomain: what a node's name may be.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// Returns whether the text is a Kubernetes label's value, which may be empty.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_name(text)
}

/// Returns whether the text is a resource or class name as Kubernetes qualifies them: `nvidia.com/gpu`,
/// `gpu.nvidia.com`.
#[must_use]
pub fn is_qualified(text: &str) -> bool {
    is_label_key(text) || is_dns_subdomain(text)
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_name(name),
        None => is_label_name(text),
    }
}

fn is_label_name(text: &str) -> bool {
    ends_fit(text, |b| b.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn ends_fit(text: &str, fits: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.first().is_some_and(|b| fits(*b))
        && bytes.last().is_some_and(|b| fits(*b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pointers(checks: Checks) -> Vec<String> {
        checks.into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn names_are_labels() {
        for good in ["a", "3080-small-4-1", "uk-1", &"x".repeat(63)] {
            assert!(is_dns_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "UK-1", "a_b", "a.b", "a b", "ü", &"x".repeat(64), "a\n"] {
            assert!(!is_dns_label(bad), "{bad:?}");
        }
        for good in ["nvidia.com/gpu", "gpu", "nvidia.com/mig-1g.10gb", "gpu.nvidia.com"] {
            assert!(is_qualified(good), "{good}");
        }
        for bad in ["", "/gpu", "nvidia.com/", "a/b/c", "nvidia com/gpu"] {
            assert!(!is_qualified(bad), "{bad:?}");
        }
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let mut checks = Checks::default();
        checks.name("/name", "Bad Name");
        checks.display_name("/title", " x", 10);
        checks.label_value("/model", "");
        checks.within("/count", 5, 1, 4);
        checks.length("/spec", "", 63);
        checks.currency("/currency", "eur");
        checks.text("/filter", Some("a\0"));
        checks.labels("/labels", &BTreeMap::from([("a b/c".to_owned(), "é".to_owned())]));
        checks.extend([FieldError { pointer: "/env".to_owned(), detail: "is not set".to_owned() }]);
        let errors = checks.finish().unwrap_err().into_errors();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/name",
                "/title",
                "/model",
                "/count",
                "/spec",
                "/currency",
                "/filter",
                "/labels/a b~1c",
                "/labels/a b~1c",
                "/env"
            ]
        );
    }

    #[test]
    fn a_display_name_has_only_visible_characters() {
        for good in
            ["x", "Dr. Köhler", "株式会社", "👩‍🚀 crew", "👩🏽‍💻", "❤️", "🏳️‍🌈", "شركة", "O’Brien & Söhne", "ñ"]
        {
            assert!(is_display_name(good, 20), "{good}");
        }
        for format in ('\u{200b}'..='\u{200f}')
            .chain('\u{202a}'..='\u{202e}')
            .chain('\u{2060}'..='\u{2069}')
            .chain("\0\n\u{7f}\u{85}\u{ad}\u{61c}\u{feff}\u{2028}\u{2029}\u{e0041}\u{3164}\u{e000}".chars())
        {
            assert!(!is_display_name(&format!("a{format}b"), 20), "{format:?}");
        }
        for bad in
            ["", " x", "x ", "\u{a0}x", "a\u{200d}b", "👩\u{200d}", "\u{200d}🚀", "👩\u{200d}\u{200d}🚀"]
        {
            assert!(!is_display_name(bad, 20), "{bad:?}");
        }
        assert!(is_display_name(&"ü".repeat(20), 20) && !is_display_name(&"ü".repeat(21), 20));
    }

    #[test]
    fn valid_fields_pass() {
        let mut checks = Checks::default();
        checks.name("/name", "uk-1");
        checks.display_name("/title", "Dr. Köhler", 10);
        checks.label_value("/model", "RTX_3080.x");
        checks.within("/low", 1, 1, 4);
        checks.within("/high", 4, 1, 4);
        checks.length("/spec", "x", 1);
        checks.currency("/currency", "EUR");
        checks.text("/filter", None);
        checks.text("/filter", Some("x"));
        checks.labels("/labels", &BTreeMap::from([("a.b/c".to_owned(), String::new())]));
        checks.finish().unwrap();
    }

    proptest! {
        #[test]
        fn a_pointer_leads_to_its_member(key in ".*", other in ".*") {
            prop_assume!(key != other);
            let document = serde_json::json!({ "labels": { key.clone(): 1, other: 2 } });
            let found = document.pointer(&pointer_to("/labels", &key));
            prop_assert_eq!(found, Some(&serde_json::json!(1)));
        }

        #[test]
        fn bounds_are_inclusive(value: i64, least: i64, most: i64) {
            let mut checks = Checks::default();
            checks.within("/value", value, least, most);
            prop_assert_eq!(pointers(checks).is_empty(), least <= value && value <= most);
        }
    }
}
