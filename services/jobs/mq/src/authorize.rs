//! Authorization of users that the broker does not know itself (`rabbitmq_auth_backend_http`): a form,
//! answered with `allow` or `deny`. On a listener that only the broker needs to reach.

use axum::{
    Form, Router,
    extract::{FromRef, State},
    routing::post,
};
use ids::{MqCredentialId, TenantId};
use serde::Deserialize;
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use super::{
    Parts,
    credential::hash,
    store,
    topology::{JOBS, queue_of},
};

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Parts: FromRef<S>,
{
    Router::new()
        .route("/mq/v1/user", post(user))
        .route("/mq/v1/vhost", post(vhost))
        .route("/mq/v1/resource", post(resource))
        .route("/mq/v1/topic", post(topic))
}

/// The virtual host of the message queue.
const VHOST: &str = "/";

/// The broker reads only the body. Denied if the check fails.
fn answer(allowed: sqlx::Result<bool>) -> &'static str {
    match allowed {
        Ok(true) => "allow",
        Ok(false) => "deny",
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "a user of the broker is denied");
            "deny"
        }
    }
}

/// Returns the tenant and the hashed secret of a credential that may be used.
async fn find(parts: &Parts, username: &str) -> sqlx::Result<Option<(TenantId, Vec<u8>)>> {
    let Ok(id) = username.parse::<MqCredentialId>() else { return Ok(None) };
    let mut tx = parts.db.worker().await?;
    let Some((tenant, hash)) = store::secret(&mut tx, id).await? else { return Ok(None) };
    match tenants::check_active(&mut tx, tenant).await {
        Ok(()) => Ok(Some((tenant, hash))),
        Err(tenants::Error::Suspended) => Ok(None),
        Err(tenants::Error::Database(error)) => Err(error),
    }
}

#[derive(Deserialize)]
struct UserQuestion {
    username: String,
    password: String,
}

async fn user(State(parts): State<Parts>, Form(question): Form<UserQuestion>) -> &'static str {
    let found = find(&parts, &question.username).await;
    answer(found.map(|found| {
        let known = found.filter(|(_, expected)| bool::from(expected.ct_eq(&hash(&question.password))));
        known.is_some_and(|(tenant, _)| may_sign_in(&parts, tenant))
    }))
}

/// Limits the connections that a tenant opens, so that others can connect.
fn may_sign_in(parts: &Parts, tenant: TenantId) -> bool {
    let is_allowed = parts.broker.sign_ins.take(tenant, Instant::now());
    if !is_allowed {
        tracing::warn!(tenant.id = %tenant, "a tenant opens too many connections to the broker");
    }
    is_allowed
}

#[derive(Deserialize)]
struct VhostQuestion {
    username: String,
    vhost: String,
}

async fn vhost(State(parts): State<Parts>, Form(question): Form<VhostQuestion>) -> &'static str {
    let found = find(&parts, &question.username).await;
    answer(found.map(|found| found.is_some() && question.vhost == VHOST))
}

#[derive(Deserialize)]
struct ResourceQuestion {
    username: String,
    vhost: String,
    resource: String,
    name: String,
    permission: String,
}

impl ResourceQuestion {
    /// A tenant may only publish jobs and read its own events.
    fn is_allowed_to(&self, tenant: TenantId) -> bool {
        let own = queue_of(tenant);
        self.vhost == VHOST
            && match (self.resource.as_str(), self.permission.as_str()) {
                ("exchange", "write") => self.name == JOBS,
                ("queue", "read") => self.name == own,
                _ => false,
            }
    }
}

async fn resource(State(parts): State<Parts>, Form(question): Form<ResourceQuestion>) -> &'static str {
    let found = find(&parts, &question.username).await;
    answer(found.map(|found| found.is_some_and(|(tenant, _)| question.is_allowed_to(tenant))))
}

/// The answer about topic exchanges: tenants neither publish nor bind to them.
async fn topic() -> &'static str {
    "deny"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_publishes_jobs_and_reads_its_own_events() {
        let (tenant, other) = (TenantId::new(), TenantId::new());
        let asks = |resource: &str, name: &str, permission: &str| {
            ResourceQuestion {
                username: String::new(),
                vhost: VHOST.to_owned(),
                resource: resource.to_owned(),
                name: name.to_owned(),
                permission: permission.to_owned(),
            }
            .is_allowed_to(tenant)
        };
        assert!(asks("exchange", JOBS, "write"));
        assert!(asks("queue", &queue_of(tenant), "read"));
        for (resource, name, permission) in [
            ("exchange", JOBS, "read"),
            ("exchange", JOBS, "configure"),
            ("exchange", "atelier.events", "write"),
            ("exchange", "atelier.events", "read"),
            ("exchange", "amq.default", "write"),
            ("queue", JOBS, "read"),
            ("queue", &queue_of(tenant), "write"),
            ("queue", &queue_of(tenant), "configure"),
            ("queue", &queue_of(other), "read"),
            ("queue", "jobs.submit.urgent", "read"),
        ] {
            assert!(!asks(resource, name, permission), "{permission} {resource} {name}");
        }
        let elsewhere = ResourceQuestion {
            username: String::new(),
            vhost: "other".to_owned(),
            resource: "exchange".to_owned(),
            name: JOBS.to_owned(),
            permission: "write".to_owned(),
        };
        assert!(!elsewhere.is_allowed_to(tenant));
    }
}
