//! Checking what callers send: all errors of a request at once, each with its place.

use std::collections::BTreeMap;

use api::{FieldError, Problem};

/// Collects the errors of a request.
#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<FieldError>);

impl Checks {
    pub(crate) fn require(&mut self, good: bool, pointer: &str, detail: impl Into<String>) {
        if !good {
            self.0.push(FieldError { pointer: pointer.to_owned(), detail: detail.into() });
        }
    }

    pub(crate) fn name(&mut self, pointer: &str, text: &str) {
        self.require(
            is_dns_label(text),
            pointer,
            "must be 1 to 63 of a-z, 0-9 and -, and begin and end with a letter or digit",
        );
    }

    pub(crate) fn label_value(&mut self, pointer: &str, text: &str) {
        self.require(
            is_label_value(text) && !text.is_empty(),
            pointer,
            "must be 1 to 63 of A-Z, a-z, 0-9, -, _ and ., and begin and end with a letter or digit",
        );
    }

    pub(crate) fn within(&mut self, pointer: &str, value: i64, least: i64, most: i64) {
        self.require((least..=most).contains(&value), pointer, format!("must be between {least} and {most}"));
    }

    pub(crate) fn labels(&mut self, pointer: &str, labels: &BTreeMap<String, String>) {
        self.require(labels.len() <= 16, pointer, "must have at most 16 entries");
        for (key, value) in labels {
            self.require(
                is_label_key(key),
                &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                "is not a Kubernetes label key",
            );
            self.require(
                is_label_value(value),
                &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                "is not a Kubernetes label value",
            );
        }
    }

    /// Text that is compared with names: it may be anything that a database can hold.
    pub(crate) fn text(&mut self, pointer: &str, text: Option<&str>) {
        let fits = text.is_none_or(|text| text.len() <= 253 && !text.contains('\0'));
        self.require(fits, pointer, "must be at most 253 bytes, without NUL");
    }

    pub(crate) fn finish(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::invalid(self.0)) }
    }
}

/// RFC 1123 label: what a Kubernetes object's name and a host name's part may be.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    ends_fit(text, inner) && text.bytes().all(|b| inner(b) || b == b'-')
}

/// A Kubernetes label's value; may be empty.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_name(text)
}

fn is_label_name(text: &str) -> bool {
    ends_fit(text, |b| b.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_name(name),
        None => is_label_name(text),
    }
}

/// RFC 1123 subdomain: what a node's name may be.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// A resource or class name as Kubernetes qualifies them: `nvidia.com/gpu`, `gpu.nvidia.com`.
pub(crate) fn is_qualified(text: &str) -> bool {
    is_label_key(text) || is_dns_subdomain(text)
}

fn ends_fit(text: &str, fits: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.first().is_some_and(|b| fits(*b))
        && bytes.last().is_some_and(|b| fits(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
