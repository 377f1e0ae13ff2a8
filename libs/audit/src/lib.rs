//! The audit log of all writes ([`entries`], [`verify`], [`log_routes`], [`RetentionConfig`]), and the actions of
//! administrators on objects of tenants, with their reasons. Each service with such actions has this table:
//!
//! ```sql
//! create table admin_actions (
//!     id        bigint generated always as identity primary key,
//!     tenant_id uuid        not null,
//!     target    text        not null,               -- id of the object
//!     action    text        not null,
//!     reason    text        not null,
//!     user_id   uuid        not null,               -- the administrator
//!     at        timestamptz not null default now()
//! );
//! create index admin_actions_of_target on admin_actions (target, id desc);
//! ```
//! Rows are inserted and read in an administrator's transaction (`Db::admin` of libs/db), and never change.
//!
//! No action or target of a service may enter: each names its own.

mod log;
mod retention;
mod routes;

use api::{Checks, Problem};
use ids::{TenantId, UserId};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::{IntoParams, ToSchema};

pub use log::{
    AuditActor, AuditEntry, AuditFilter, AuditQuery, AuditVerification, BrokenEntry, PlatformAuditQuery,
    entries, verify,
};
pub use retention::{RetentionConfig, register as register_metrics};

/// The longest reason, in characters.
const MAX_REASON: usize = 500;

/// Why an administrator acts.
#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Why {
    /// The reason, 1 to 500 characters. It is recorded, and the tenant may see it.
    #[param(min_length = 1, max_length = 500)]
    pub reason: String,
}

impl Why {
    /// # Errors
    /// If the reason is empty, too long, or not printable.
    pub fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        checks.display_name("reason", &self.reason, MAX_REASON);
        Ok(checks.finish()?)
    }
}

/// An action to record.
#[derive(Debug)]
pub struct NewAction<'a> {
    /// Owner of the object.
    pub tenant: TenantId,
    /// Id of the object.
    pub target: String,
    /// What is done, for example `stop_instance`.
    pub action: &'a str,
    /// Why.
    pub reason: &'a str,
    /// The administrator.
    pub user: UserId,
}

/// An action of an administrator on an object of a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AdminAction {
    /// Number of the action; later ones have higher numbers.
    pub id: i64,
    /// Owner of the object.
    pub tenant_id: TenantId,
    /// Id of the object.
    pub target: String,
    /// What was done, for example `stop_instance`.
    pub action: String,
    /// Why.
    pub reason: String,
    /// The administrator.
    pub user_id: UserId,
    /// Time of the action.
    pub at: jiff::Timestamp,
}

impl<'a> NewAction<'a> {
    /// An action on the tenant itself: on what it may use or spend.
    #[must_use]
    pub fn on_tenant(tenant: TenantId, action: &'a str, why: &'a Why, user: UserId) -> Self {
        Self { tenant, target: tenant.to_string(), action, reason: &why.reason, user }
    }
}

impl NewAction<'_> {
    /// Records the action, in the transaction that carries it out.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn insert(&self, conn: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query!(
            "insert into admin_actions (tenant_id, target, action, reason, user_id) values ($1, $2, $3, $4, $5)",
            self.tenant as TenantId,
            self.target,
            self.action,
            self.reason,
            self.user as UserId,
        )
        .execute(conn)
        .await
        .map(drop)
    }
}

/// Returns the actions on `target` before `before`, newest first.
///
/// # Errors
/// If the database fails.
pub async fn list(
    conn: &mut PgConnection,
    target: &str,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<AdminAction>> {
    sqlx::query_as!(
        AdminAction,
        "select id, tenant_id, target, action, reason, user_id, at from admin_actions
         where target = $1 and ($2::bigint is null or id < $2)
         order by id desc limit $3",
        target,
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}
