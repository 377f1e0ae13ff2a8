//! The key that proves the endpoint's identity: one for all replicas, made by the first, kept in Postgres where only
//! the worker role reads it. A configured file wins.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use db::Db;
use keys::fingerprint;
use russh::keys::{Algorithm, PrivateKey, PublicKey, ssh_key::LineEnding};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;

use super::store;

/// The endpoint's key, read when it is first needed. Clones share it.
#[derive(Clone)]
pub(super) struct HostKey {
    db: Db,
    file: Option<Arc<Path>>,
    key: Arc<OnceCell<PrivateKey>>,
}

impl HostKey {
    pub(super) fn new(db: Db, file: Option<&Path>) -> Self {
        Self { db, file: file.map(Arc::from), key: Arc::default() }
    }

    /// Returns the key; the first replica that needs it makes it.
    ///
    /// # Errors
    /// If the file or the database cannot be read, or holds no key.
    pub(super) async fn private(&self) -> anyhow::Result<&PrivateKey> {
        self.key.get_or_try_init(|| self.read()).await
    }

    /// Returns the public half in OpenSSH format, and its fingerprint.
    ///
    /// # Errors
    /// As [`Self::private`].
    pub(super) async fn public(&self) -> anyhow::Result<(String, String)> {
        let key = PublicKey::new(self.private().await?.public_key().key_data().clone(), "");
        Ok((key.to_openssh()?.trim().to_owned(), fingerprint(&key)))
    }

    async fn read(&self) -> anyhow::Result<PrivateKey> {
        let text: SecretString = match &self.file {
            Some(file) => tokio::fs::read_to_string(file)
                .await
                .with_context(|| format!("cannot read the SSH host key {}", file.display()))?
                .into(),
            None => self.stored().await?,
        };
        PrivateKey::from_openssh(text.expose_secret())
            .ok()
            .filter(|key| !key.is_encrypted())
            .context("the SSH host key is not an unencrypted key in OpenSSH format")
    }

    async fn stored(&self) -> anyhow::Result<SecretString> {
        let mut tx = self.db.worker().await?;
        if let Some(key) = store::host_key(&mut tx).await? {
            return Ok(key.into());
        }
        let new = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519)?.to_openssh(LineEnding::LF)?;
        store::insert_host_key(&mut tx, &new).await?;
        // that of another replica, if it was first
        let key = store::host_key(&mut tx).await?;
        tx.commit().await?;
        Ok(key.context("the SSH host key was not stored")?.into())
    }
}
