//! The values of secrets, decrypted.

use std::{collections::BTreeMap, sync::Arc};

use db::Db;
use encryption::Cipher;
use gpu_core::instance::Instance;
use instances::instance::secret_values::{context, store};

use crate::registry_credential;

/// The values of secrets.
#[derive(Clone)]
pub(super) struct Values {
    db: Db,
    cipher: Arc<Cipher>,
}

/// Why values are not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("cannot decrypt the secret {name:?}: {cause:#}")]
    Unreadable { name: String, cause: anyhow::Error },
    #[error("the registry credential has ended")]
    CredentialEnded,
}

impl Values {
    pub(super) fn new(db: Db, cipher: Arc<Cipher>) -> Self {
        Self { db, cipher }
    }

    /// The environment variables.
    pub(super) async fn read(&self, instance: &Instance) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
        let mut tx = self.db.worker().await?;
        let stored = store::read(&mut tx, instance.id).await?;
        tx.commit().await?;
        let decrypted = stored.into_iter().map(|(name, encrypted)| {
            match self.cipher.decrypt(&encrypted, &context(instance.tenant, instance.id, &name)) {
                Ok(value) => Ok((name, value)),
                Err(cause) => Err(ReadError::Unreadable { name, cause }),
            }
        });
        decrypted.collect()
    }

    /// The file with which the image is pulled.
    pub(super) async fn read_pull(
        &self,
        instance: &Instance,
    ) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
        let id = instance.pull_credential.ok_or(ReadError::CredentialEnded)?;
        let mut tx = self.db.worker().await?;
        let stored = registry_credential::stored(&mut tx, instance.tenant, id).await?;
        tx.commit().await?;
        let stored = stored.ok_or(ReadError::CredentialEnded)?;
        match stored.docker_config(&self.cipher, &instance.order.template.image) {
            Ok(config) => Ok([(".dockerconfigjson".to_owned(), config)].into()),
            Err(cause) => Err(ReadError::Unreadable { name: "registry credential".to_owned(), cause }),
        }
    }
}
