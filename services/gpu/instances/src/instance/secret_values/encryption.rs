//! The values of secrets, encrypted and bound to their instance, and what identifies a request with them.

use api::Problem;
use encryption::{Cipher, Encrypted};
use gpu_core::instance::secret::NewSecret;
use ids::{InstanceId, TenantId};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

/// The content that identifies a repeated request, with keyed fingerprints instead of the values of secrets:
/// not even a plain hash of them is stored.
#[derive(Serialize)]
pub struct Identity<'a, T> {
    #[serde(flatten)]
    request: &'a T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secret_values: Vec<Option<String>>,
}

impl<'a, T: Serialize> Identity<'a, T> {
    /// The content of a request with these secrets.
    pub fn new(request: &'a T, secrets: &[NewSecret], cipher: &Cipher) -> Self {
        let fingerprint = |value: &SecretString| cipher.fingerprint(value.expose_secret());
        let secret_values = secrets.iter().map(|secret| secret.value.as_ref().map(fingerprint)).collect();
        Self { request, secret_values }
    }
}

/// The context to which values are bound: values of another instance or name are not decrypted.
pub fn context(tenant: TenantId, instance: InstanceId, name: &str) -> String {
    format!("{tenant} {instance} {name}")
}

/// The names that keep their present values, and the encrypted new ones.
pub struct Replacement {
    pub kept: Vec<String>,
    pub written: Vec<(String, Encrypted)>,
}

/// Encrypts the values of checked secrets.
pub fn encrypt(
    secrets: &[NewSecret],
    (tenant, instance): (TenantId, InstanceId),
    cipher: &Cipher,
) -> Result<Replacement, Problem> {
    let mut replacement = Replacement { kept: Vec::new(), written: Vec::new() };
    for NewSecret { name, value } in secrets {
        let Some(value) = value else {
            replacement.kept.push(name.clone());
            continue;
        };
        let encrypted = cipher.encrypt(value.expose_secret().as_bytes(), &context(tenant, instance, name));
        replacement.written.push((name.clone(), encrypted.map_err(Problem::internal)?));
    }
    Ok(replacement)
}

#[cfg(test)]
mod tests {
    use encryption::EncryptionKey;
    use gpu_core::instance::secret::list;
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Request {
        name: String,
        #[serde(default, deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
        secrets: Vec<NewSecret>,
    }

    #[test]
    fn the_identity_of_a_request_depends_on_the_values_and_has_none_of_them() {
        let key =
            EncryptionKey { id: "a".into(), key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into() };
        let cipher = Cipher::new("gpu", &[key]).unwrap();
        let identity = |value: Value| {
            let request: Request = serde_json::from_value(json!({ "name": "x", "secrets": value })).unwrap();
            serde_json::to_string(&Identity::new(&request, &request.secrets, &cipher)).unwrap()
        };
        let one = identity(json!([{ "name": "A", "value": "hunter2" }]));
        assert_eq!(one, identity(json!([{ "name": "A", "value": "hunter2" }])));
        assert_ne!(one, identity(json!([{ "name": "A", "value": "hunter3" }])));
        assert_ne!(one, identity(json!([{ "name": "A" }])));
        assert!(!one.contains("hunter2"), "{one}");
        assert_eq!(identity(json!([])), r#"{"name":"x"}"#, "as before there were secrets");
    }
}
