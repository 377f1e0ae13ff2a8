//! The secrets of the platform: random, created once, readable by their owner only.

use std::{collections::BTreeMap, fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// Passwords, tokens and keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Secrets {
    pub administrator_password: String,
    pub designer_password: String,
    pub postgres_password: String,
    /// Password of the services' database roles.
    pub database_password: String,
    /// Signs the gateway's instance cookies; 32 bytes in base64.
    pub cookie_key: String,
    pub object_store_access_key: String,
    pub object_store_secret_key: String,
    /// `NAME_token`, with which a service calls others, and `NAME_encryption_key`, 32 bytes in base64.
    #[serde(flatten)]
    of_services: BTreeMap<String, String>,
}

fn word(length: usize) -> String {
    let mut random = rand::rng();
    (0..length).map(|_| char::from(b"abcdefghijkmnpqrstuvwxyz23456789"[random.random_range(0..32)])).collect()
}

fn token() -> String {
    word(40)
}

fn key() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    STANDARD.encode(bytes)
}

impl Secrets {
    /// The secrets of an earlier `up`, or new ones.
    pub fn load_or_create(data: &Path) -> anyhow::Result<Self> {
        let file = data.join("secrets.json");
        if let Ok(text) = std::fs::read(&file) {
            let mut secrets: Self = serde_json::from_slice(&text)?;
            // an earlier version may have written fewer
            secrets.complete();
            write_private(&file, &serde_json::to_vec_pretty(&secrets)?)?;
            return Ok(secrets);
        }
        let mut secrets = Self {
            administrator_password: word(16),
            designer_password: word(16),
            postgres_password: word(32),
            database_password: word(32),
            cookie_key: key(),
            object_store_access_key: word(20).to_uppercase(),
            object_store_secret_key: word(40),
            of_services: BTreeMap::new(),
        };
        secrets.complete();
        write_private(&file, &serde_json::to_vec_pretty(&secrets)?)?;
        Ok(secrets)
    }

    /// Adds the secrets of services that have none.
    fn complete(&mut self) {
        // its name when only identity had a key
        if let Some(key) = self.of_services.remove("encryption_key") {
            self.of_services.insert("identity_encryption_key".to_owned(), key);
        }
        for service in platform::services() {
            self.of_services.entry(format!("{}_token", service.name)).or_insert_with(token);
            if service.encrypts {
                self.of_services.entry(format!("{}_encryption_key", service.name)).or_insert_with(key);
            }
        }
    }

    /// With which a service calls others; and scripts the operator, with the operator's.
    pub fn token(&self, service: &str) -> &str {
        &self.of_services[&format!("{service}_token")]
    }

    /// Encrypts the secrets of a service.
    pub fn encryption_key(&self, service: &str) -> &str {
        &self.of_services[&format!("{service}_encryption_key")]
    }
}

/// Atomically writes a file that only its owner can read.
pub fn write_private(file: &Path, content: &[u8]) -> anyhow::Result<()> {
    let new = file.with_extension("new");
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(content)?;
    std::fs::rename(new, file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_earlier_up_stay() {
        let data = tempfile::tempdir().unwrap();
        let made = Secrets::load_or_create(data.path()).unwrap();
        let file = data.path().join("secrets.json");
        let earlier =
            std::fs::read_to_string(&file).unwrap().replace("identity_encryption_key", "encryption_key");
        let earlier = earlier.replace("\"stock_token\"", "\"of_no_service\"");
        std::fs::write(&file, earlier).unwrap();
        let read = Secrets::load_or_create(data.path()).unwrap();
        assert_eq!(read.encryption_key("identity"), made.encryption_key("identity"));
        assert_eq!((read.token("gpu"), &read.cookie_key), (made.token("gpu"), &made.cookie_key));
        assert_ne!(read.token("stock"), made.token("stock"));
        assert_eq!(Secrets::load_or_create(data.path()).unwrap().token("stock"), read.token("stock"));
    }
}
