//! Secrets in the namespaces of pods: written by server-side apply as this service's field manager, deleted
//! by name, never read. The cluster's answers contain no values, so errors contain none either.

use std::collections::BTreeMap;

use crds::{ClusterError, names};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};

use super::Cluster;

/// A Secret to write.
pub struct NewSecretObject<'a> {
    /// Namespace: the tenant's, or that of a unit.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// Name of the tenant.
    pub tenant: &'a str,
    /// Name of the instance.
    pub instance: &'a str,
    /// Type, as in Kubernetes.
    pub kind: &'static str,
    /// Values by name.
    pub values: BTreeMap<String, Vec<u8>>,
}

/// Why a Secret was not written or deleted.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The cluster rejects its contents.
    #[error("the cluster rejects the secret: {reason}")]
    Rejected {
        /// Machine-readable reason.
        reason: String,
    },
    /// The cluster does not accept the call.
    #[error("the cluster answers {code} {reason}: {message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// Machine-readable reason.
        reason: String,
        /// The reason in a sentence.
        message: String,
    },
    /// The cluster's credentials are not usable.
    #[error(transparent)]
    Credentials(#[from] ClusterError),
    /// The cluster does not answer.
    #[error("the cluster does not answer")]
    Unreachable(#[source] Box<kube::Error>),
}

impl From<kube::Error> for SecretError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code >= 500 => {
                Self::Unreachable(Box::new(kube::Error::Api(status)))
            }
            kube::Error::Api(status) if matches!(status.code, 400 | 413 | 422) => {
                Self::Rejected { reason: status.reason.clone() }
            }
            kube::Error::Api(status) => Self::Refused {
                code: status.code,
                reason: status.reason.clone(),
                message: status.message.clone(),
            },
            other => Self::Unreachable(Box::new(other)),
        }
    }
}

impl Cluster {
    /// Writes a Secret, whether or not it exists. The namespace of a tenant is created if it does not exist yet; the
    /// operator adds what belongs in it before it creates a pod there.
    pub async fn write_secret(&self, new: NewSecretObject<'_>) -> Result<(), SecretError> {
        let client = self.clients.client(&self.name).await?;
        let labels = [
            ("app.kubernetes.io/managed-by", names::MANAGER_GPU),
            (names::LABEL_TENANT, new.tenant),
            (names::LABEL_INSTANCE, new.instance),
        ];
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(new.name.to_owned()),
                namespace: Some(new.namespace.to_owned()),
                labels: Some(labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()),
                ..ObjectMeta::default()
            },
            data: Some(new.values.into_iter().map(|(name, value)| (name, ByteString(value))).collect()),
            type_: Some(new.kind.to_owned()),
            ..Secret::default()
        };
        let secrets: Api<Secret> = Api::namespaced(client.clone(), new.namespace);
        let (params, patch) = (PatchParams::apply(names::MANAGER_GPU).force(), Patch::Apply(&secret));
        // the answer has the metadata only
        match secrets.patch_metadata(new.name, &params, &patch).await {
            Err(kube::Error::Api(status)) if status.is_not_found() && new.namespace == new.tenant => {
                create_namespace(client, new.namespace).await?;
                secrets.patch_metadata(new.name, &params, &patch).await?;
            }
            result => drop(result?),
        }
        Ok(())
    }

    /// Deletes a Secret, if it exists.
    pub async fn delete_secret(&self, namespace: &str, name: &str) -> Result<(), SecretError> {
        let client = self.clients.client(&self.name).await?;
        let secrets: Api<Secret> = Api::namespaced(client, namespace);
        match secrets.delete(name, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            result => result.map(drop).map_err(SecretError::from),
        }
    }
}

async fn create_namespace(client: kube::Client, name: &str) -> Result<(), SecretError> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let params = PostParams { field_manager: Some(names::MANAGER_GPU.to_owned()), ..PostParams::default() };
    match Api::<Namespace>::all(client).create(&params, &namespace).await {
        // the operator was first
        Err(kube::Error::Api(status)) if status.is_conflict() || status.code == 409 => Ok(()),
        result => result.map(drop).map_err(SecretError::from),
    }
}
