//! Removal of secrets from configurations and texts.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};

/// Replaces possible secrets.
const MASK: &str = "[redacted]";
/// Keys of a configuration whose text is shown, unless it looks like a secret. So are the names of services, the keys of their
/// addresses. The values of all others are not.
const SHOWN: [&str; 29] = [
    "listen",
    "metrics_listen",
    "url",
    "endpoint",
    "public_endpoint",
    "public_url",
    "jwks_url",
    "issuer",
    "audience",
    "region",
    "name",
    "id",
    "domain",
    "scheme",
    "host",
    "kubeconfig",
    "context",
    "cluster",
    "bucket",
    "rp_id",
    "origins",
    "level",
    "identity",
    "datacenter",
    "memberships",
    "role",
    "tenant",
    "identity_claim",
    "just_in_time",
];
/// Shorter texts are not taken for secrets wherever they occur.
const MIN_SECRET: usize = 6;

/// Patterns of secrets in any text: tokens, keys of the platform and of the object store, authorization headers,
/// cookies, keys in PEM, and credentials in addresses.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",
        r"\batl_[A-Za-z0-9_-]+",
        r"\bATC[0-9A-Z]{17}\b|\bATPLATFORM[0-9A-Z]+\b",
        r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}",
        r#"(?i)\b(?:set-)?cookie["']?\s*[:=]\s*["']?[^"'\s,}]+"#,
        r#"(?i)["']?\b[a-z_-]*(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|ticket)["']?\s*[:=]\s*["']?[^"'\s,}&]+"#,
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"\b[a-z][a-z0-9+.-]*://[^\s/@]+@",
        r"\$argon2[a-z]*\$[^\s]+",
        r"\b[0-9A-Za-z+/]{40,}={0,2}\b",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// Secrets that are known, and the patterns of those that are not.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    known: BTreeSet<String>,
}

impl Redactor {
    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= MIN_SECRET {
            self.known.insert(secret.to_owned());
        }
    }

    /// Returns a configuration without its secrets, and learns them.
    pub(crate) fn configuration(&mut self, value: Value) -> Value {
        self.value(None, value)
    }

    fn value(&mut self, key: Option<&str>, value: Value) -> Value {
        match value {
            Value::Object(map) => {
                // the keys are names of services there, too
                let has_tokens = key == Some("callers");
                let fields = map.into_iter().map(|(name, value)| {
                    let redacted = self.value((!has_tokens).then_some(&name), value);
                    (name, redacted)
                });
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Value::Array(all) => all.into_iter().map(|value| self.value(key, value)).collect(),
            Value::String(text) => {
                let is_shown =
                    key.is_some_and(|key| SHOWN.contains(&key) || platform::service(key).is_some());
                if is_shown && self.text(&text) == text {
                    return Value::String(text);
                }
                if !is_shown {
                    self.add(&text);
                }
                Value::String(MASK.to_owned())
            }
            other => other,
        }
    }

    /// Returns a text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // the longest first: one may contain another
        let mut known: Vec<&String> = self.known.iter().collect();
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in known {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        for pattern in PATTERNS.iter() {
            text = pattern.replace_all(&text, MASK).into_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_patterns_are_valid() {
        assert_eq!(PATTERNS.len(), 10);
    }

    #[test]
    fn a_configuration_keeps_its_form_and_loses_its_secrets() {
        let mut redactor = Redactor::default();
        let shown = redactor.configuration(json!({
            "listen": "127.0.0.1:8080",
            "database": { "url": "postgres://db:5432/atelier", "app_password": "pass-of-app", "max_connections": 10 },
            "callers": { "gpu": "gpu-token", "gateway": "gateway-token" },
            "services": { "jobs": "http://jobs:8089" },
            "encryption_keys": [{ "id": "2026", "key": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=" }],
            "object_store": { "endpoint": "http://user:word@rgw", "access_key": "ADMIN-ACCESS" },
            "new_option": "unknown-secret",
        }));
        assert_eq!(
            shown,
            json!({
                "listen": "127.0.0.1:8080",
                "database": { "url": "postgres://db:5432/atelier", "app_password": MASK, "max_connections": 10 },
                "callers": { "gpu": MASK, "gateway": MASK },
                "services": { "jobs": "http://jobs:8089" },
                "encryption_keys": [{ "id": "2026", "key": MASK }],
                "object_store": { "endpoint": MASK, "access_key": MASK },
                "new_option": MASK,
            })
        );
        let log = redactor.text("connected with pass-of-app and unknown-secret");
        assert_eq!(log, format!("connected with {MASK} and {MASK}"));
    }

    #[test]
    fn texts_lose_what_looks_like_a_secret() {
        let redactor = Redactor::default();
        for secret in [
            "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJl",
            "atl_5NFkXq8s7VjP2",
            "ATC0123456789ABCDEFG",
            "Authorization: Bearer abcdefgh12345678",
            r#""cookie":"__Host-atelier_session=abcdef""#,
            r#""password":"hunter2""#,
            "ticket=abc123",
            "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
            "postgres://user:word@db/atelier",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA",
        ] {
            let text = redactor.text(&format!("before {secret} after"));
            assert!(text.contains(MASK) && text.starts_with("before "), "{text}");
            for part in [
                "c2lnbmF0dXJl",
                "5NFkXq",
                "0123456789ABC",
                "abcdefgh",
                "=abcdef",
                "hunter2",
                "abc123",
                "MIIB",
                "word",
                "aGFzaA",
            ] {
                assert!(!text.contains(part), "{text}");
            }
        }
        let plain = "instance inst_01939f0a7c3d7e6b8a1f4f0d5c2b1a00 changed from starting to running";
        assert_eq!(redactor.text(plain), plain);
    }
}
