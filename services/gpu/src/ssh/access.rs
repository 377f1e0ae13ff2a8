//! Who may open which instance with which key.
//!
//! An unknown instance, another tenant's, a wrong key and a user without the role look alike: the key is refused. A
//! key that belongs to nobody is refused before it signs; of other keys the answer says nothing about any instance.

use auth::Grant;
use clients::identity::Role;
use ids::{InstanceId, SshKeyId, TenantId, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use super::{server::Server, store};
use crate::{error::Error, state::AppState};

/// Users with the same key that are tried, at most.
const MAX_CANDIDATES: i64 = 50;

/// To whom a key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum KeyOwner {
    /// A user: it opens what the user may open.
    User,
    /// An instance: it opens this one.
    Instance,
}

/// The right of a key to an instance.
#[derive(Debug, Clone)]
pub(super) struct Right {
    pub(super) instance: InstanceId,
    pub(super) tenant: TenantId,
    /// The user who has the key, or who added it to the instance.
    pub(super) user: UserId,
    pub(super) key: SshKeyId,
    pub(super) owner: KeyOwner,
    pub(super) fingerprint: String,
    /// What ends the right when it is revoked.
    pub(super) grant: Grant,
}

/// Returns the instance of a user name: its id, with `-` or `_`.
pub(super) fn instance(user: &str) -> Option<InstanceId> {
    user.parse().or_else(|_| InstanceId::from_k8s_name(user)).ok()
}

/// Returns whether anybody has the key, so that it is worth a signature.
pub(super) async fn is_known(app: &AppState, fingerprint: &str) -> Result<bool, Error> {
    let mut tx = app.db.worker().await?;
    Ok(store::is_known(&mut tx, fingerprint).await?)
}

/// Returns the right of the key to the instance that the user name names, if it has one.
pub(super) async fn right(
    app: &AppState,
    ssh: &Server,
    user: &str,
    fingerprint: &str,
) -> Result<Option<Right>, Error> {
    let Some(instance) = instance(user) else { return Ok(None) };
    // the caller is not known yet
    let mut tx = app.db.worker().await?;
    let Some(tenant) = store::owner(&mut tx, instance).await? else { return Ok(None) };
    let candidates = store::candidates(&mut tx, (tenant, instance), fingerprint, MAX_CANDIDATES).await?;
    drop(tx);
    for candidate in candidates {
        let rights = ssh.identity.rights(tenant, candidate.user_id).await;
        let rights = rights.map_err(|cause| Error::Service { service: "The identity service", cause })?;
        // as for the terminal
        let Some(rights) = rights.filter(|rights| rights.role >= Role::Member) else { continue };
        let user = candidate.user_id;
        let grant = Grant { user, tenant: Some(tenant), session: None, issued_at: rights.as_of };
        if app.auth.verifier.revocations().check(&grant).is_err() {
            continue;
        }
        let fingerprint = fingerprint.to_owned();
        let (key, owner) = (candidate.id, candidate.owner);
        return Ok(Some(Right { instance, tenant, user, key, owner, fingerprint, grant }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_name_is_an_instance_id_in_either_form() {
        let id = InstanceId::new();
        assert_eq!(instance(&id.to_string()), Some(id));
        assert_eq!(instance(&id.k8s_name()), Some(id));
        for other in ["", "root", "inst-", &id.to_string().to_uppercase(), &ids::UnitId::new().to_string()] {
            assert_eq!(instance(other), None, "{other}");
        }
    }
}
