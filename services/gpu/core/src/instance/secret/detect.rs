//! Environment variables that look like secrets. Pure.
//!
//! The list is short, so that ordinary variables pass: it is a hint for people, not a safeguard. A variable
//! looks like a secret
//! - by its name, if that ends with a word of [`SECRET_NAMES`] and its value is not a switch, a path or a special token
//!   of a model (`EOS_TOKEN=</s>`);
//! - by its value, if that has the form of a known kind of credential: [`PREFIXES`], AWS access keys, JSON Web Tokens,
//!   private keys in PEM, URLs with a password.

use problem::Checks;

use crate::catalogue::EnvVar;

/// Suffixes of names, in capital letters. Each is one or several whole words.
const SECRET_NAMES: [&str; 14] = [
    "ACCESS_KEY",
    "API_KEY",
    "APIKEY",
    "AUTH_KEY",
    "CREDENTIALS",
    "ENCRYPTION_KEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATE_KEY",
    "SECRET",
    "SECRET_KEY",
    "SIGNING_KEY",
    "TOKEN",
];
/// Values of variables that switch something.
const SWITCHES: [&str; 10] = ["0", "1", "true", "false", "yes", "no", "on", "off", "none", "null"];
/// Prefixes of credentials, and the minimum number of letters, digits, `-` and `_` that follow.
const PREFIXES: [(&str, usize); 13] = [
    ("hf_", 20),  // Hugging Face
    ("sk-", 20),  // OpenAI, Anthropic
    ("ghp_", 30), // GitHub
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 20),
    ("glpat-", 20), // GitLab
    ("npm_", 30),   // npm
    ("xoxb-", 20),  // Slack
    ("xoxp-", 20),
    ("AIza", 35), // Google
];

/// Refuses environment variables that look like secrets.
pub fn check_env(checks: &mut Checks, pointer: &str, env: &[EnvVar]) {
    for (i, EnvVar { name, value }) in env.iter().enumerate() {
        if let Some(why) = looks_like_secret(name, value) {
            let detail = format!(
                "looks like a secret ({why}), and values of `env` can be read in the cluster: send it in `secrets`"
            );
            checks.refuse(format!("{pointer}/{i}/value"), detail);
        }
    }
}

/// Returns why a variable looks like a secret.
fn looks_like_secret(name: &str, value: &str) -> Option<&'static str> {
    if is_secret_name(name) && !is_harmless(value) {
        return Some("by its name");
    }
    is_credential(value).then_some("by its value")
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('_')))
}

/// Whether the value of a variable with the name of a secret is not a secret.
fn is_harmless(value: &str) -> bool {
    value.is_empty()
        || SWITCHES.iter().any(|switch| value.eq_ignore_ascii_case(switch))
        || value.starts_with(['/', '<', '['])
}

fn is_credential(value: &str) -> bool {
    let value = value.trim();
    has_known_prefix(value)
        || is_aws_key(value)
        || is_jwt(value)
        || is_private_key(value)
        || has_password(value)
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn has_known_prefix(value: &str) -> bool {
    PREFIXES.iter().any(|(prefix, length)| {
        value.strip_prefix(prefix).is_some_and(|rest| {
            // a name made of words has no digit or capital letter
            rest.len() >= *length
                && is_word(rest)
                && rest.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        })
    })
}

fn is_aws_key(value: &str) -> bool {
    (value.starts_with("AKIA") || value.starts_with("ASIA"))
        && value.len() == 20
        && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

fn is_jwt(value: &str) -> bool {
    let parts: Vec<&str> = value.split('.').collect();
    value.starts_with("eyJ") && parts.len() == 3 && parts.iter().all(|part| part.len() >= 10 && is_word(part))
}

fn is_private_key(value: &str) -> bool {
    let header = value.split_once("-----BEGIN ").and_then(|(_, rest)| rest.split_once("-----"));
    header.is_some_and(|(kind, _)| kind.ends_with("PRIVATE KEY"))
}

/// Whether it is a URL with a password.
fn has_password(value: &str) -> bool {
    url::Url::parse(value).is_ok_and(|url| url.password().is_some_and(|password| !password.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_refused_with_most_values() {
        for name in [
            "TOKEN",
            "HF_TOKEN",
            "hf_token",
            "MY_API_KEY",
            "APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "SECRET",
        ] {
            assert_eq!(looks_like_secret(name, "hunter2"), Some("by its name"), "{name}");
        }
        for value in ["", "0", "true", "No", "None", "/run/token", "</s>", "<|endoftext|>", "[PAD]"] {
            assert_eq!(looks_like_secret("EOS_TOKEN", value), None, "{value}");
        }
    }

    #[test]
    fn other_names_pass() {
        for name in [
            "MAX_TOKENS",
            "TOKENIZER",
            "TOKENIZERS_PARALLELISM",
            "PASSWORD_FILE",
            "SSH_PUBLIC_KEY",
            "PARTITION_KEY",
            "KEY",
            "KEYBOARD",
            "SECRETARY",
            "COMPASSWORD",
            "WEB_ENABLE_AUTH",
            "AWS_ACCESS_KEY_ID",
            "AUTHOR",
        ] {
            assert_eq!(looks_like_secret(name, "hunter2"), None, "{name}");
        }
    }

    #[test]
    fn values_with_the_form_of_a_credential_are_refused_whatever_the_name() {
        let of = |prefix: &str, length| format!("{prefix}{}", "aB3".repeat(20).get(..length).unwrap());
        for (prefix, length) in PREFIXES {
            assert_eq!(looks_like_secret("X", &of(prefix, length)), Some("by its value"), "{prefix}");
            assert_eq!(looks_like_secret("X", &of(prefix, length - 1)), None, "{prefix}");
        }
        let pem = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n";
        for value in [
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
            pem,
            "-----BEGIN PRIVATE KEY-----",
            "postgres://me:hunter2@db.example/x",
            " hf_abcdefghijklmnopqrstuvwx12345 ",
        ] {
            assert_eq!(looks_like_secret("X", value), Some("by its value"), "{value}");
        }
    }

    #[test]
    fn ordinary_values_pass() {
        for value in [
            "",
            "plain",
            "hf_model",
            "hf_hub_download_of_all_the_models",
            "sk-learn-compatible-estimators-only",
            "AKIAIOSFODNN7EXAMPL",
            "akiaiosfodnn7example",
            "eyJ",
            "--listen --api --port 7860",
            "a.b.c",
            "-----BEGIN CERTIFICATE-----\nabc",
            "-----BEGIN PUBLIC KEY-----",
            "https://example.com:8080/a?b=c",
            "https://user@example.com",
            "https://example.com/@scope:x",
            "runwayml/stable-diffusion-v1-5",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
            assert_eq!(looks_like_secret("X", value), None, "{value}");
        }
    }

    #[test]
    fn the_error_points_to_the_value_and_does_not_repeat_it() {
        let env = [("A", "b"), ("HF_TOKEN", "hunter2")];
        let env = env.map(|(name, value)| EnvVar { name: name.into(), value: value.into() });
        let mut checks = Checks::default();
        check_env(&mut checks, "/env", &env);
        let errors = checks.into_errors();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].pointer, "/env/1/value");
        assert!(
            errors[0].detail.contains("`secrets`") && !errors[0].detail.contains("hunter2"),
            "{errors:?}"
        );
    }
}
