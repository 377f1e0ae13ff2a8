//! What a membership is, and who may touch it.

use api::{Problem, ProblemType};
use auth::{Principal, Role};
use ids::{TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tenant::{TenantRef, TenantState};

/// A user as a member of a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Member {
    /// The user.
    pub(crate) user_id: UserId,
    /// The user's address.
    pub(crate) email: String,
    /// The user's name.
    pub(crate) display_name: String,
    /// What the user may do in the tenant.
    pub(crate) role: Role,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// Member since.
    pub(crate) created_at: Timestamp,
    /// When the role last changed.
    pub(crate) updated_at: Timestamp,
}

/// A tenant as one of a user's.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Membership {
    /// The tenant.
    pub(crate) tenant: TenantRef,
    /// Whether the tenant works.
    pub(crate) state: TenantState,
    /// What the user may do in it.
    pub(crate) role: Role,
}

/// A member to be added: an existing user, by id or by address.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMember {
    /// The user; either this or `email`.
    #[serde(default)]
    pub(crate) user_id: Option<UserId>,
    /// The user's address; either this or `user_id`.
    #[serde(default)]
    pub(crate) email: Option<String>,
    /// What the user shall be able to do.
    pub(crate) role: Role,
}

/// A change of role.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberChange {
    /// The new role.
    pub(crate) role: Role,
}

/// Administrators and members see a tenant; to all others it does not exist.
///
/// # Errors
/// 404.
pub(crate) fn may_read(principal: &Principal, tenant: TenantId) -> Result<(), Problem> {
    let member = principal.tenant.is_some_and(|(own, _)| own == tenant);
    if principal.admin || member { Ok(()) } else { Err(Problem::not_found()) }
}

/// Administrators and owners manage members.
///
/// # Errors
/// 404 when the tenant is not the caller's, 403 when the role is too small.
pub(super) fn may_manage(principal: &Principal, tenant: TenantId) -> Result<(), Problem> {
    may_read(principal, tenant)?;
    if principal.admin { Ok(()) } else { principal.tenant_as(Role::Owner).map(drop) }
}

/// The tenant must keep an owner.
pub(crate) fn last_owner() -> Problem {
    Problem::new(ProblemType::LastOwner, "This is the tenant's only owner.")
}
