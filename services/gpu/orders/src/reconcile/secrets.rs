//! Writes and deletes the Secrets in clusters.

use clusters::{NewSecretObject, SecretError};
use gpu_core::{
    instance::{
        Event, Failure, Instance,
        secret::{SecretChange, SecretObject},
        unreachable_cluster,
    },
    reason::{Reason, ReasonCode},
};

use super::{
    actions::{Actions, Blocked, internal_error},
    values::ReadError,
};

impl Actions {
    /// Writes the Secret of the current start. A value that cannot be decrypted, or that the cluster rejects, fails the
    /// start.
    pub(super) async fn write_secret(
        &self,
        instance: &Instance,
        object: SecretObject,
    ) -> Result<Event, Blocked> {
        let is_for_pull = instance.pull_secret_name().as_ref() == Some(&object.name);
        let (kind, values) = match is_for_pull {
            true => ("kubernetes.io/dockerconfigjson", self.secrets.read_pull(instance).await),
            false => ("Opaque", self.secrets.read(instance).await),
        };
        let values = match values {
            Ok(values) => values,
            // the instance is read again, without the credential
            Err(error @ ReadError::CredentialEnded) => return Err(Blocked::new(not_accepted(), &error)),
            Err(ReadError::Database(error)) => return Err(Blocked::new(internal_error(), &error)),
            Err(error @ ReadError::Unreadable { .. }) => {
                tracing::error!(instance.id = %instance.id, error = %error, "secret cannot be read");
                let message = "A secret of the instance cannot be decrypted. Write all secrets of the instance again, \
                     and start it. If that does not help, report its id to an administrator.";
                let reason = Reason::new(ReasonCode::SecretUnreadable, message);
                return Ok(Event::Failed(Failure::new(reason)));
            }
        };
        let cluster = self.cluster(&object.cluster)?;
        let secret = NewSecretObject {
            namespace: &object.namespace,
            name: &object.name,
            tenant: &instance.tenant.k8s_name(),
            instance: &instance.id.k8s_name(),
            kind,
            values,
        };
        match cluster.write_secret(secret).await {
            Ok(()) => Ok(Event::Secret(SecretChange::Written(object))),
            Err(error @ SecretError::Rejected { .. }) => {
                tracing::error!(instance.id = %instance.id, error = %error, "cluster rejects a secret");
                let message = "The cluster rejects the secrets of the instance.";
                let reason = Reason::new(ReasonCode::TemplateRejected, message);
                Ok(Event::Failed(Failure::new(reason)))
            }
            Err(error) => Err(blocked(&error)),
        }
    }

    pub(super) async fn delete_secret(&self, object: &SecretObject) -> Result<(), Blocked> {
        let cluster = self.cluster(&object.cluster)?;
        cluster.delete_secret(&object.namespace, &object.name).await.map_err(|error| blocked(&error))
    }

    /// Deletes again what delayed calls may have written. Returns whether anything can be forgotten now.
    pub(super) async fn delete_leftover_secrets(&self, instance: &Instance) -> Result<bool, Blocked> {
        for tracked in &instance.secret_objects {
            // nothing is left of a cluster that is not configured any more
            if self.clusters.get(&tracked.object.cluster).is_some() {
                self.delete_secret(&tracked.object).await?;
            }
        }
        Ok(!instance.secret_objects.is_empty())
    }
}

fn blocked(error: &SecretError) -> Blocked {
    let reason = match error {
        SecretError::Unreachable(_) | SecretError::Credentials(_) => unreachable_cluster(),
        _ => not_accepted(),
    };
    Blocked::new(reason, error)
}

fn not_accepted() -> Reason {
    Reason::new(
        ReasonCode::WaitingForSecrets,
        "The cluster does not accept the secrets of the instance yet. The platform retries.",
    )
}
