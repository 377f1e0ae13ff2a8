//! Removes secrets from texts of errors: the values of this process's configuration exactly, others by their form.

use std::sync::{LazyLock, PoisonError, RwLock};

use figment::value::{Dict, Value};
use regex::Regex;

/// The replacement for a secret.
const REDACTED: &str = "[redacted]";
/// Longest text that is kept, in characters.
const LONGEST: usize = 300;
/// Shortest value of the configuration that is searched for: shorter ones may be ordinary words.
const SHORTEST: usize = 6;

/// The secrets of the configuration.
static SECRETS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Forms of secrets, and what replaces them.
static FORMS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let form = |pattern, replacement| Regex::new(pattern).ok().map(|regex| (regex, replacement));
    [
        // user and password of a URL; a password may have any character except those that end a word
        form(r#"([A-Za-z][A-Za-z0-9+.-]*://)[^\s"'<>]*@"#, "${1}[redacted]@"),
        form(
            r#"(?i)([\w.-]*(?:password|passwd|pwd|secret|token|credential|signature|api[_-]?key|access[_-]?key)[\w.-]*["']?\s*[=:]\s*["']?)[^\s"'&;,]+"#,
            "${1}[redacted]",
        ),
        form(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}", "${1} [redacted]"),
        // JSON Web Tokens, API keys
        form(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*", REDACTED),
        form(r"\batl_\w+", REDACTED),
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// Remembers the secrets of a configuration: values with names of secrets, and the passwords of URLs.
pub(crate) fn remember(configuration: &Dict) {
    let mut found = Vec::new();
    collect(configuration, &mut found);
    let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    secrets.extend(found);
    // longer ones first: one may contain another
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
}

fn collect(values: &Dict, found: &mut Vec<String>) {
    for (name, value) in values {
        let name = name.to_lowercase();
        let is_secret = ["password", "secret", "token", "key"].iter().any(|word| name.contains(word));
        // name → token
        collect_value(value, is_secret || name == "callers", found);
    }
}

fn collect_value(value: &Value, is_secret: bool, found: &mut Vec<String>) {
    match value {
        Value::String(_, text) => {
            let password = text.parse::<url::Url>().ok().and_then(|url| url.password().map(str::to_owned));
            let own = is_secret.then(|| text.clone());
            found.extend(own.into_iter().chain(password).filter(|secret| secret.len() >= SHORTEST));
        }
        Value::Dict(_, values) if is_secret => {
            values.values().for_each(|value| collect_value(value, true, found));
        }
        Value::Dict(_, values) => collect(values, found),
        Value::Array(_, values) => values.iter().for_each(|value| collect_value(value, is_secret, found)),
        _ => {}
    }
}

/// Returns the text without secrets, in one line, and shortened.
#[must_use]
pub fn redact(text: &str) -> String {
    let text = without_secrets(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the text without secrets.
#[must_use]
pub(crate) fn without_secrets(text: &str) -> String {
    let mut text = text.to_owned();
    for secret in SECRETS.read().unwrap_or_else(PoisonError::into_inner).iter() {
        if text.contains(secret) {
            text = text.replace(secret, REDACTED);
        }
    }
    for (form, replacement) in FORMS.iter() {
        text = form.replace_all(&text, *replacement).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use figment::{
        Figment,
        providers::{Format, Toml},
    };
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_removed_by_their_form() {
        for (text, expected) in [
            (
                "cannot connect to postgres://app:hunter22@db:5432/x",
                "cannot connect to postgres://[redacted]@db:5432/x",
            ),
            ("redis://:p@ss/w0rd@cache:6379 is away", "redis://[redacted]@cache:6379 is away"),
            ("host=db password=hunter22 user=app", "host=db password=[redacted] user=app"),
            (r#"{"secret_key": "hunter22", "a": 1}"#, r#"{"secret_key": "[redacted]", "a": 1}"#),
            ("http://s3/x?X-Amz-Signature=abcdef&y=1", "http://s3/x?X-Amz-Signature=[redacted]&y=1"),
            ("Authorization: Bearer abcdef123", "Authorization: Bearer [redacted]"),
            ("the token eyJhbGciOi.eyJzdWIi.c2ln is not valid", "the token [redacted] is not valid"),
            ("the key atl_abcdef0123 ended", "the key [redacted] ended"),
            ("waiting for identity", "waiting for identity"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(redact(text), expected);
        }
        assert_eq!(redact(&"x".repeat(1000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn secrets_of_the_configuration_are_removed_wherever_they_are() {
        let file = r#"
            listen = "127.0.0.1:8080"
            url = "postgres://app:of-a-url@db/x"
            [database]
            app_password = "of-the-database"
            [callers]
            gpu = "of-a-caller"
            [[cookie_keys]]
            id = "1"
            key = "of-a-cookie"
        "#;
        let dict: Dict = Figment::from(Toml::string(file)).extract().unwrap();
        remember(&dict);
        for secret in ["of-a-url", "of-the-database", "of-a-caller", "of-a-cookie"] {
            let text = redact(&format!("refused <{secret}> at 127.0.0.1:8080"));
            assert_eq!(text, "refused <[redacted]> at 127.0.0.1:8080");
        }
    }

    proptest! {
        #[test]
        fn no_password_of_a_url_remains(
            password in "[A-Za-z0-9@/:?#!$%&*()_+=.,;-]{8,20}",
            before in "[a-z ]{0,20}",
            after in "[a-z ]{0,20}",
        ) {
            let text = redact(&format!("{before} postgres://user:{password}@host/db {after}"));
            prop_assert!(!text.contains(&password), "{text}");
        }
    }
}
