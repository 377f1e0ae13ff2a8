//! What is requested, and what a kubelet gets. Pure.

use api::{Checks, Problem};
use base64::{Engine, engine::general_purpose::STANDARD};
use encryption::{Cipher, Encrypted};
use gpu_core::catalogue::parse_registry;
use ids::{RegistryCredentialId, TenantId};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::json;
use utoipa::ToSchema;

const MAX_NAME: usize = 100;
const MAX_USERNAME: usize = 255;
/// Some registries take a file with a private key as the password.
const MAX_SECRET: usize = 8192;

/// A registry credential to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRegistryCredential {
    /// Name, 1 to 100 characters, unique in the tenant.
    #[schema(example = "team images")]
    pub(super) name: String,
    /// Host of the registry, with its port if it has one, as in names of images. `docker.io` is Docker Hub.
    #[schema(example = "ghcr.io")]
    registry: String,
    /// User name at the registry, 1 to 255 characters.
    #[schema(example = "robot")]
    pub(super) username: String,
    /// Password or token, at most 8 KiB. Never returned.
    #[serde(deserialize_with = "secret")]
    #[schema(value_type = String, format = Password, write_only)]
    secret: SecretString,
}

/// Deserializes a secret. The error contains nothing of the request.
fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    match serde_json::Value::deserialize(from)? {
        serde_json::Value::String(secret) => Ok(secret.into()),
        _ => Err(D::Error::custom("must be a string")),
    }
}

/// The content that identifies a repeated request, with a keyed fingerprint instead of the secret: not even a
/// plain hash of it is stored.
#[derive(Serialize)]
pub(super) struct Identity<'a> {
    name: &'a str,
    registry: &'a str,
    username: &'a str,
    secret: String,
}

impl NewRegistryCredential {
    /// Checks the fields. Returns the registry.
    pub(super) fn checked(&self) -> Result<String, Problem> {
        let mut checks = Checks::default();
        checks.display_name("/name", &self.name, MAX_NAME);
        let registry = parse_registry(&self.registry);
        if let Err(why) = registry {
            checks.refuse("/registry", why);
        }
        let is_username = (1..=MAX_USERNAME).contains(&self.username.chars().count())
            && !self.username.chars().any(|c| c.is_control() || c == ':');
        checks.require(
            is_username,
            "/username",
            "must be 1 to 255 characters, without colon and control characters",
        );
        let secret = self.secret.expose_secret();
        let is_secret = (1..=MAX_SECRET).contains(&secret.len()) && !secret.contains('\0');
        checks.require(is_secret, "/secret", "must be 1 to 8192 bytes, without NUL");
        checks.finish()?;
        registry.map_err(|why| Problem::invalid_field("/registry", why))
    }

    pub(super) fn identity(&self, cipher: &Cipher) -> Identity<'_> {
        let secret = cipher.fingerprint(self.secret.expose_secret());
        Identity { name: &self.name, registry: &self.registry, username: &self.username, secret }
    }

    pub(super) fn encrypt(
        &self,
        tenant: TenantId,
        id: RegistryCredentialId,
        cipher: &Cipher,
    ) -> Result<Encrypted, Problem> {
        let secret = self.secret.expose_secret().as_bytes();
        cipher.encrypt(secret, &context(tenant, id)).map_err(Problem::internal)
    }
}

/// The context to which a secret is bound: the secret of another credential is not decrypted.
pub(super) fn context(tenant: TenantId, id: RegistryCredentialId) -> String {
    format!("registry credential {tenant} {id}")
}

/// A credential, as it is stored.
pub struct StoredCredential {
    pub(super) id: RegistryCredentialId,
    pub(super) tenant: TenantId,
    pub(super) username: String,
    pub(super) secret: Encrypted,
}

impl StoredCredential {
    /// Returns the file with which a kubelet pulls this image: `.dockerconfigjson`.
    ///
    /// # Errors
    /// If the secret cannot be decrypted.
    pub(crate) fn docker_config(&self, cipher: &Cipher, image: &str) -> anyhow::Result<Vec<u8>> {
        let secret = String::from_utf8(cipher.decrypt(&self.secret, &context(self.tenant, self.id))?)?;
        Ok(docker_config(image, &self.username, &secret).into_bytes())
    }
}

fn docker_config(image: &str, username: &str, secret: &str) -> String {
    // kubelets compare with the image name as it is written
    let registry = match image.split_once('/') {
        Some((host, _)) if gpu_core::catalogue::registry_of(image) != "docker.io" => host,
        _ => "https://index.docker.io/v1/",
    };
    let auth = STANDARD.encode(format!("{username}:{secret}"));
    json!({ "auths": { (registry): { "username": username, "password": secret, "auth": auth } } }).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn new(change: impl FnOnce(&mut Value)) -> Result<NewRegistryCredential, serde_json::Error> {
        let mut value =
            json!({ "name": "team", "registry": "ghcr.io", "username": "robot", "secret": "hunter2" });
        change(&mut value);
        serde_json::from_value(value)
    }

    fn refused(field: &str, value: Value) -> bool {
        let new = new(|new| new[field] = value).unwrap();
        serde_json::to_value(api::ProblemDetails::from(new.checked().unwrap_err())).unwrap()["errors"][0]["pointer"]
            == format!("/{field}")
    }

    #[test]
    fn fields_are_checked() {
        assert_eq!(new(|_| ()).unwrap().checked().unwrap(), "ghcr.io");
        assert_eq!(
            new(|new| new["registry"] = json!("index.docker.io")).unwrap().checked().unwrap(),
            "docker.io"
        );
        for (field, value) in [
            ("name", json!("")),
            ("registry", json!("https://ghcr.io")),
            ("registry", json!("team")),
            ("username", json!("a:b")),
            ("username", json!("")),
            ("secret", json!("")),
            ("secret", json!("x".repeat(8193))),
        ] {
            assert!(refused(field, value.clone()), "{field} {value}");
        }
    }

    #[test]
    fn nothing_repeats_the_secret() {
        for secret in [json!(4711), json!({ "hunter2": 1 }), json!(null)] {
            let text = new(|new| new["secret"] = secret).unwrap_err().to_string();
            assert!(!text.contains("4711") && !text.contains("hunter2"), "{text}");
        }
        let key = encryption::EncryptionKey {
            id: "a".into(),
            key: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=".into(),
        };
        let cipher = Cipher::new("gpu", &[key]).unwrap();
        let identity = |secret: &str| {
            let new = new(|new| new["secret"] = json!(secret)).unwrap();
            serde_json::to_string(&new.identity(&cipher)).unwrap()
        };
        assert!(!identity("hunter2").contains("hunter2"));
        assert_ne!(identity("hunter2"), identity("hunter3"));
        assert!(!format!("{:?}", new(|_| ()).unwrap()).contains("hunter2"));
    }

    #[test]
    fn the_file_names_the_registry_as_kubelets_look_for_it() {
        let registry = |image: &str| {
            let config: Value = serde_json::from_str(&docker_config(image, "robot", "hunter2")).unwrap();
            let (registry, login) = config["auths"].as_object().unwrap().iter().next().unwrap();
            assert_eq!((&login["username"], &login["password"]), (&json!("robot"), &json!("hunter2")));
            assert_eq!(login["auth"], json!(STANDARD.encode("robot:hunter2")));
            registry.clone()
        };
        assert_eq!(registry("ghcr.io/team/app:1"), "ghcr.io");
        assert_eq!(registry("127.0.0.1:5000/team/app:1"), "127.0.0.1:5000");
        for image in ["team/app:1", "app:1", "docker.io/team/app:1", "index.docker.io/team/app:1"] {
            assert_eq!(registry(image), "https://index.docker.io/v1/", "{image}");
        }
    }
}
