//! Who may open which instance with which key.
//!
//! An unknown instance, an instance of another tenant, a wrong key and a user without the role get the same
//! answer: the key is refused. An unknown key is refused before it signs; the answer to a known key says
//! nothing about any instance.

use anyhow::Context as _;
use auth::{Grant, Role};
use ids::InstanceId;

use super::{Parts, right::Right, server::Server, store};

/// Maximum number of users with the same key that are tried.
const MAX_CANDIDATES: i64 = 50;

/// Returns the instance of a user name: its id, with `-` or `_`.
pub(super) fn instance(user: &str) -> Option<InstanceId> {
    user.parse().or_else(|_| InstanceId::from_k8s_name(user)).ok()
}

/// Returns whether any user or instance has the key. An unknown key is refused before it signs.
pub(super) async fn is_known(app: &Parts, fingerprint: &str) -> sqlx::Result<bool> {
    let mut tx = app.db.worker().await?;
    store::is_known(&mut tx, fingerprint).await
}

/// Returns the right of the key to the instance that the user name names, if it has one.
pub(super) async fn right(
    app: &Parts,
    ssh: &Server,
    user: &str,
    fingerprint: &str,
) -> anyhow::Result<Option<Right>> {
    let Some(instance) = instance(user) else { return Ok(None) };
    // the caller is not known yet
    let mut tx = app.db.worker().await?;
    let Some(tenant) = store::owner(&mut tx, instance).await? else { return Ok(None) };
    let candidates = store::candidates(&mut tx, (tenant, instance), fingerprint, MAX_CANDIDATES).await?;
    drop(tx);
    for candidate in candidates {
        let rights = ssh.identity.rights(tenant, candidate.user_id).await;
        let rights = rights.context("the identity service does not answer")?;
        // as for the terminal
        let Some(rights) = rights.filter(|rights| rights.role >= Role::Member) else { continue };
        let user = candidate.user_id;
        let grant = Grant { user, tenant: Some(tenant), session: None, issued_at: rights.as_of };
        if app.verifier.revocations().check(&grant).is_err() {
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
