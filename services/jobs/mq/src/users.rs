//! Limits that the broker enforces: the open connections and channels of a credential. For each credential
//! the broker has a user of the same name, which carries the limits. It has no password, so that nobody can
//! sign in as it.

use std::{collections::HashSet, time::Duration};

use ids::MqCredentialId;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Duty, Task};
use tokio::time::Instant;

use super::{Parts, management::Management, store};
use crate::MqConfig;

/// Limits of a credential.
const LIMITS: [(&str, u32); 2] = [("max-connections", 32), ("max-channels", 256)];
/// Time between two checks for new credentials.
const LOOK: Duration = Duration::from_secs(1);
/// How often the users are compared with those of the broker, which may have lost some.
const COMPARE: Duration = Duration::from_secs(30);

/// The task of the users, if the management API of the broker is configured.
pub(super) fn task(parts: &Parts, config: &MqConfig) -> Option<Task> {
    let parts = (parts.clone(), config.management_url.clone()?);
    Some(Task::new("mq_users", Duty::Reconcile, &parts, |(parts, url)| async move {
        run(&parts, &Users { management: Management::new(&url)? }).await
    }))
}

/// Keeps the users of the broker in line with the credentials.
async fn run(parts: &Parts, users: &Users) -> anyhow::Result<()> {
    let (mut created, mut ended) = (parts.broker.credentials.subscribe(), parts.broker.ended.subscribe());
    let mut known = Known::default();
    loop {
        created.mark_unchanged();
        ended.mark_unchanged();
        if let Err(error) = users.follow(parts, &mut known).await {
            tracing::warn!(error = format!("{error:#}"), "the broker's limits are not as they should be");
            known.compared_at = None;
        }
        // the sender lives as long as the process
        tokio::select! {
            () = parts.rest.pause(LOOK) => {}
            _ = created.changed() => {}
            _ = ended.changed() => {}
        }
    }
}

/// The known users of the broker.
#[derive(Default)]
struct Known {
    compared_at: Option<Instant>,
    users: HashSet<MqCredentialId>,
    /// Credentials that have their limits.
    limited: HashSet<MqCredentialId>,
}

#[derive(Deserialize)]
struct User {
    name: String,
}

#[derive(Deserialize)]
struct UserLimits {
    user: String,
    value: Map<String, Value>,
}

struct Users {
    management: Management,
}

impl Users {
    /// Limits new credentials, and deletes the users of those that may not be used any more.
    async fn follow(&self, parts: &Parts, known: &mut Known) -> anyhow::Result<()> {
        // first, so that a user whose credential is found neither now nor before is deleted
        if known.compared_at.is_none_or(|at| at.elapsed() >= COMPARE) {
            let id = |name: &String| name.parse::<MqCredentialId>().ok();
            let users: Vec<User> = self.management.get(&["users"]).await?;
            let limits: Vec<UserLimits> = self.management.get(&["user-limits"]).await?;
            let is_limited = |limits: &&UserLimits| {
                LIMITS.iter().all(|(name, most)| limits.value.get(*name) == Some(&json!(most)))
            };
            known.users = users.iter().filter_map(|user| id(&user.name)).collect();
            known.limited = limits.iter().filter(is_limited).filter_map(|limits| id(&limits.user)).collect();
            known.compared_at = Some(Instant::now());
        }
        let mut tx = parts.db.worker().await?;
        let usable: HashSet<MqCredentialId> = store::usable(&mut tx).await?.into_iter().collect();
        drop(tx);
        for id in usable.difference(&known.limited.clone()) {
            self.limit(*id).await?;
            known.users.insert(*id);
            known.limited.insert(*id);
        }
        for id in known.users.clone().difference(&usable) {
            self.management.delete(&["users", &id.to_string()], "the credential has ended").await?;
            known.users.remove(id);
            known.limited.remove(id);
        }
        Ok(())
    }

    async fn limit(&self, id: MqCredentialId) -> anyhow::Result<()> {
        let user = json!({ "password_hash": "", "tags": "" });
        let id = id.to_string();
        self.management.put(&["users", &id], &user).await?;
        for (name, most) in LIMITS {
            self.management.put(&["user-limits", &id, name], &json!({ "value": most })).await?;
        }
        Ok(())
    }
}
