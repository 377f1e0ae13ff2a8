//! The secrets of the platform: random, created once, readable by their owner only.

use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// Passwords, tokens and keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secrets {
    pub(crate) administrator_password: String,
    pub(crate) designer_password: String,
    pub(crate) postgres_password: String,
    /// Of the services' database roles.
    pub(crate) database_password: String,
    /// Service token of gpu, for identity, stock and storage.
    pub(crate) gpu_token: String,
    /// Service token of the gateway, for identity and gpu.
    pub(crate) gateway_token: String,
    /// Service token of stock, for identity.
    #[serde(default = "token")]
    pub(crate) stock_token: String,
    /// Service token of storage, for identity.
    #[serde(default = "token")]
    pub(crate) storage_token: String,
    /// Service token of jobs, for identity and storage.
    #[serde(default = "token")]
    pub(crate) jobs_token: String,
    /// Service token of identity, for gpu, storage and jobs.
    #[serde(default = "token")]
    pub(crate) identity_token: String,
    /// For scripts that use the Operator API.
    pub(crate) operator_token: String,
    /// Signs the gateway's instance cookies; 32 bytes in base64.
    pub(crate) cookie_key: String,
    /// Encrypts the identity service's signing keys; 32 bytes in base64.
    pub(crate) encryption_key: String,
    /// Encrypts the secrets of instances in the gpu service; 32 bytes in base64.
    #[serde(default = "key")]
    pub(crate) gpu_encryption_key: String,
    /// Encrypts the secrets of webhooks in the jobs service; 32 bytes in base64.
    #[serde(default = "key")]
    pub(crate) jobs_encryption_key: String,
    pub(crate) object_store_access_key: String,
    pub(crate) object_store_secret_key: String,
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
    pub(crate) fn load_or_create(data: &Path) -> anyhow::Result<Self> {
        let file = data.join("secrets.json");
        if let Ok(text) = std::fs::read(&file) {
            let secrets: Self = serde_json::from_slice(&text)?;
            // an earlier version may have written fewer
            write_private(&file, &serde_json::to_vec_pretty(&secrets)?)?;
            return Ok(secrets);
        }
        let secrets = Self {
            administrator_password: word(16),
            designer_password: word(16),
            postgres_password: word(32),
            database_password: word(32),
            gpu_token: token(),
            gateway_token: token(),
            stock_token: token(),
            storage_token: token(),
            jobs_token: token(),
            identity_token: token(),
            operator_token: token(),
            cookie_key: key(),
            encryption_key: key(),
            gpu_encryption_key: key(),
            jobs_encryption_key: key(),
            object_store_access_key: word(20).to_uppercase(),
            object_store_secret_key: word(40),
        };
        write_private(&file, &serde_json::to_vec_pretty(&secrets)?)?;
        Ok(secrets)
    }
}

/// Atomically writes a file that only its owner can read.
pub(crate) fn write_private(file: &Path, content: &[u8]) -> anyhow::Result<()> {
    let new = file.with_extension("new");
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(content)?;
    std::fs::rename(new, file)?;
    Ok(())
}
