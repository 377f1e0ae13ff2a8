//! The requested secrets, and which are valid. Pure.

use std::collections::HashSet;

use jiff::Timestamp;
use problem::Checks;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use utoipa::ToSchema;

use crate::catalogue::{Author, EnvVar, check_variables};

/// A secret in a request.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InstanceSecretRequest)]
pub struct NewSecret {
    /// Name of the environment variable: letters, digits and `_`, not starting with a digit. Not that of one in `env`.
    pub name: String,
    /// Value, at most 32 KiB. Never returned. In a change, a secret without a value keeps its current value.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = Password, write_only)]
    pub value: Option<SecretString>,
}

/// A secret of an instance, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceSecret)]
pub struct SecretRef {
    /// Name of the environment variable.
    pub name: String,
    /// When its value was written.
    pub updated_at: Timestamp,
}

const SHAPE: &str = "must be a list of objects with `name` and `value`, which are strings";

/// Deserializes a list. The error contains nothing of the request.
pub fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NewSecret>, D::Error> {
    optional_list(from)?.ok_or_else(|| D::Error::custom(SHAPE))
}

/// Like [`list`], for a list that may be null.
pub fn optional_list<'de, D>(from: D) -> Result<Option<Vec<NewSecret>>, D::Error>
where
    D: Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(from)?;
    serde_json::from_value(value).map_err(|_| D::Error::custom(SHAPE))
}

/// Without the value: not even a plain hash of it is stored.
impl Serialize for NewSecret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name)
    }
}

/// Checks a list of secrets by itself.
pub fn check_change(checks: &mut Checks, pointer: &str, secrets: &[NewSecret], author: Author) {
    let variables = secrets.iter().map(|secret| {
        let value = secret.value.as_ref().map_or("", |value| value.expose_secret());
        (secret.name.as_str(), value)
    });
    checks.extend(check_variables(pointer, variables, author));
}

/// Like [`check_change`], for an instance that has none yet.
pub fn check_new(checks: &mut Checks, pointer: &str, secrets: &[NewSecret], author: Author) {
    check_change(checks, pointer, secrets, author);
    for (i, secret) in secrets.iter().enumerate() {
        checks.require(secret.value.is_some(), format!("{pointer}/{i}/value"), "is required");
    }
}

/// Checks that the environment has no secret, by the names of all secrets, and that the instance has those that are kept.
pub fn check_names(
    checks: &mut Checks,
    env: &[EnvVar],
    secrets: Option<&[NewSecret]>,
    present: &[SecretRef],
) {
    let names: HashSet<&str> = env.iter().map(|variable| variable.name.as_str()).collect();
    let Some(secrets) = secrets else {
        let present: HashSet<&str> = present.iter().map(|secret| secret.name.as_str()).collect();
        for (i, variable) in env.iter().enumerate() {
            let is_free = !present.contains(variable.name.as_str());
            checks.require(is_free, format!("/env/{i}/name"), "is the name of a secret of the instance");
        }
        return;
    };
    for (i, secret) in secrets.iter().enumerate() {
        let is_free = !names.contains(secret.name.as_str());
        checks.require(is_free, format!("/secrets/{i}/name"), "is the name of a variable in `env` too");
        let is_known = secret.value.is_some() || present.iter().any(|present| present.name == secret.name);
        let detail = "is required: the instance has no secret of this name";
        checks.require(is_known, format!("/secrets/{i}/value"), detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Request {
        name: String,
        #[serde(default, deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
        secrets: Vec<NewSecret>,
    }

    fn secrets(value: Value) -> Vec<NewSecret> {
        serde_json::from_value(value).unwrap()
    }

    fn errors(check: impl FnOnce(&mut Checks)) -> Vec<String> {
        let mut checks = Checks::default();
        check(&mut checks);
        checks.into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn an_error_of_the_form_does_not_repeat_what_was_sent() {
        for value in [
            json!("hunter2"),
            json!(["hunter2"]),
            json!([{ "name": "A", "value": 4711 }]),
            json!([{ "name": "A", "value": { "hunter2": 1 } }]),
            json!([{ "name": "A", "hunter2": "b" }]),
            json!({ "A": "hunter2" }),
            json!(null),
        ] {
            let error =
                serde_json::from_value::<Request>(json!({ "name": "x", "secrets": value })).unwrap_err();
            let text = error.to_string();
            assert!(!text.contains("hunter2") && !text.contains("4711"), "{text}");
        }
    }

    #[test]
    fn names_and_sizes_are_those_of_variables() {
        let new = secrets(json!([
            { "name": "A", "value": "x" }, { "name": "9", "value": "x" }, { "name": "A", "value": "x" },
            { "name": "ATELIER_X", "value": "x" }, { "name": "B", "value": "a\u{0}b" }, { "name": "C" },
        ]));
        let of_all = ["/secrets/1/name", "/secrets/2/name", "/secrets/3/name", "/secrets/4/value"];
        assert_eq!(errors(|checks| check_change(checks, "/secrets", &new, Author::User)), of_all);
        let new = errors(|checks| check_new(checks, "/secrets", &new, Author::User));
        assert_eq!(
            (&new[..4], &new[4..]),
            (&of_all.map(str::to_owned)[..], &["/secrets/5/value".to_owned()][..])
        );
    }

    #[test]
    fn a_name_is_in_one_of_both_lists_and_a_kept_secret_exists() {
        let env = [EnvVar { name: "A".into(), value: "x".into() }];
        let present = [SecretRef { name: "B".into(), updated_at: Timestamp::UNIX_EPOCH }];
        let check = |new: Value| errors(|checks| check_names(checks, &env, Some(&secrets(new)), &present));
        assert_eq!(check(json!([{ "name": "B" }, { "name": "C", "value": "x" }])), [""; 0]);
        assert_eq!(check(json!([{ "name": "A", "value": "x" }])), ["/secrets/0/name"]);
        assert_eq!(check(json!([{ "name": "C" }])), ["/secrets/0/value"]);
        let other = [EnvVar { name: "B".into(), value: "x".into() }];
        assert_eq!(errors(|checks| check_names(checks, &other, None, &present)), ["/env/0/name"]);
        assert_eq!(errors(|checks| check_names(checks, &env, None, &present)), [""; 0]);
    }
}
