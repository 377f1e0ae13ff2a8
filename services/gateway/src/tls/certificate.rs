//! One certificate with its key.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context;
use rustls::{
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};
use x509_parser::parse_x509_certificate;

use super::CertificateFiles;

/// A certificate that was loaded from its files.
pub(super) struct Certificate {
    pub(super) files: CertificateFiles,
    /// Hash of the files' content.
    pub(super) content: [u8; 32],
    pub(super) key: Arc<CertifiedKey>,
    /// End of its validity, in seconds since 1970.
    pub(super) expires_at: i64,
}

/// The content of both files.
pub(super) struct Content {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Content {
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn read(files: &CertificateFiles) -> anyhow::Result<Self> {
        let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        Ok(Self { certificate: read(&files.certificate)?, key: read(&files.key)? })
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(Sha256::digest(&self.certificate));
        hash.update(Sha256::digest(&self.key));
        hash.finalize().into()
    }
}

impl Certificate {
    /// # Errors
    /// If the files cannot be read, or do not hold a certificate and its key.
    pub(super) fn load(files: &CertificateFiles) -> anyhow::Result<Self> {
        Self::parse(files, &Content::read(files)?)
    }

    /// # Errors
    /// If the content is not a certificate and its key.
    pub(super) fn parse(files: &CertificateFiles, content: &Content) -> anyhow::Result<Self> {
        let path = files.certificate.display();
        let chain = CertificateDer::pem_slice_iter(&content.certificate)
            .collect::<Result<Vec<_>, _>>()
            .with_context(|| format!("{path} is not a PEM file of certificates"))?;
        let own = chain.first().with_context(|| format!("{path} has no certificate"))?;
        let (_, parsed) = parse_x509_certificate(own).with_context(|| format!("{path}: no certificate"))?;
        let expires_at = parsed.validity().not_after.timestamp();
        // the error of a key must not quote the file
        let key = PrivateKeyDer::from_pem_slice(&content.key)
            .map_err(|_| anyhow::anyhow!("{} is not a PEM file of a private key", files.key.display()))?;
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
            .with_context(|| format!("{path} and {} do not fit", files.key.display()))?;
        Ok(Self { files: files.clone(), content: content.hash(), key: Arc::new(key), expires_at })
    }
}
