//! Tenants as clients see them, and the rules for changing them.

use std::collections::BTreeMap;

use api::{Checks, Problem};
use auth::Principal;
use ids::{OperationId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Error;
use crate::field::InvalidField;

/// The state of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum TenantState {
    /// Members can sign in to it.
    Active,
    /// Nobody can sign in to it, and all tokens for it are revoked. Nothing is started; storages are kept.
    Suspended,
    /// As suspended, and all that it owns is being deleted.
    Deleting,
}

/// A tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tenant {
    /// Id of the tenant.
    pub id: TenantId,
    /// Name of the tenant. Unique, ignoring case.
    pub name: String,
    /// State of the tenant.
    pub state: TenantState,
    /// Whether its suspension stops running instances, too.
    pub stop_instances: bool,
    /// When its storages are deleted, if the tenant is being deleted.
    pub delete_storages_at: Option<Timestamp>,
    /// Progress of each service in applying the state; empty for a tenant that was never suspended.
    pub steps: Vec<TenantStep>,
    #[serde(skip)]
    pub deletion_id: Option<OperationId>,
    #[serde(skip)]
    pub generation: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the tenant last changed.
    pub updated_at: Timestamp,
}

/// Progress of a service in applying the state of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantStep {
    /// Name of the service.
    pub service: String,
    /// Whether nothing is left to do.
    pub done: bool,
    /// Objects that are still to be stopped or deleted, by kind, for example `instances`.
    pub remaining: BTreeMap<String, i64>,
    /// Why the service has not finished, in a sentence for a person, or null.
    pub message: Option<String>,
}

/// How a tenant is to be deleted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Deletion {
    /// Grace period: hours until its storages are deleted. Until then, a change of the tenant's `state` cancels the
    /// deletion. Instances are deleted at once.
    #[serde(default = "default_grace")]
    #[param(minimum = 0, maximum = 2160, default = 168)]
    pub storage_grace_hours: u32,
}

/// A week.
fn default_grace() -> u32 {
    168
}

/// 90 days.
const MAX_GRACE_HOURS: u32 = 2160;

impl Deletion {
    /// # Errors
    /// If the time is too long.
    pub(super) fn check(self) -> Result<(), InvalidField> {
        if self.storage_grace_hours <= MAX_GRACE_HOURS {
            return Ok(());
        }
        Err(InvalidField::new("storage_grace_hours", format!("must be at most {MAX_GRACE_HOURS}")))
    }
}

/// A reference to a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TenantRef {
    /// Id of the tenant.
    pub id: TenantId,
    /// Name of the tenant.
    pub name: String,
}

/// A tenant to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTenant {
    /// Name of the tenant: 1 to 100 characters, unique, ignoring case.
    #[serde(deserialize_with = "api::text::nfc")]
    pub name: String,
}

/// A change of a tenant. Absent members stay unchanged.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TenantChange {
    /// A new name.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    pub name: Option<String>,
    /// The new state: `active` or `suspended`. Both cancel a deletion while its storages still exist.
    #[serde(default)]
    pub state: Option<TenantState>,
    /// Whether a suspension stops running instances, too. Instances that are starting are stopped in any case.
    #[serde(default)]
    pub stop_instances: Option<bool>,
}

impl TenantChange {
    /// Whether an owner may make the change.
    pub(super) fn is_of_owners(&self) -> bool {
        self.state.is_none() && self.stop_instances.is_none()
    }

    /// # Errors
    /// If the name is not valid, or the state is not one to set.
    pub(super) fn check(&self) -> Result<(), InvalidField> {
        if let Some(name) = &self.name {
            check_name("/name", name)?;
        }
        match self.state {
            Some(TenantState::Deleting) => {
                Err(InvalidField::new("/state", "must be active or suspended; DELETE deletes the tenant"))
            }
            _ => Ok(()),
        }
    }
}

impl Tenant {
    /// # Errors
    /// If the tenant is active, or has members besides its owners.
    pub(super) fn check_deletable(&self, has_more_than_owners: bool) -> Result<(), Error> {
        match self.state {
            TenantState::Active => Err(Error::Active),
            _ if has_more_than_owners => Err(Error::HasMembers),
            TenantState::Suspended | TenantState::Deleting => Ok(()),
        }
    }
}

/// Checks a display name of 1 to 100 characters; see [`api::Checks::display_name`].
///
/// # Errors
/// Names the field.
pub fn check_name(pointer: &'static str, name: &str) -> Result<(), InvalidField> {
    let mut checks = Checks::default();
    checks.display_name(pointer, name, 100);
    checks.into_errors().pop().map_or(Ok(()), |error| Err(InvalidField::new(pointer, error.detail)))
}

/// Administrators and members see a tenant. To all others it does not exist.
///
/// # Errors
/// If the caller may not see the tenant.
pub fn may_read(principal: &Principal, tenant: TenantId) -> Result<(), Problem> {
    let member = principal.tenant.is_some_and(|(own, _)| own == tenant);
    if principal.admin || member { Ok(()) } else { Err(Problem::not_found()) }
}

#[cfg(test)]
impl Tenant {
    /// A tenant in this state.
    pub(super) fn fixture(state: TenantState) -> Self {
        Self {
            id: TenantId::new(),
            name: "x".to_owned(),
            state,
            stop_instances: false,
            delete_storages_at: None,
            steps: Vec::new(),
            deletion_id: None,
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }
}

#[cfg(test)]
mod tests {
    use api::ProblemType;
    use auth::Role;
    use ids::UserId;

    use super::*;

    fn principal(tenant: Option<(TenantId, Role)>, admin: bool) -> Principal {
        Principal {
            user: UserId::new(),
            tenant,
            admin,
            session: None,
            scopes: None,
            api_key: None,
            limited: false,
            issued_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::MAX,
        }
    }

    #[test]
    fn members_and_administrators_see_a_tenant() {
        let (own, other) = (TenantId::new(), TenantId::new());
        let viewer = principal(Some((own, Role::Viewer)), false);
        assert!(may_read(&viewer, own).is_ok());
        assert!(may_read(&viewer, other).unwrap_err().is(ProblemType::NotFound));
        assert!(may_read(&principal(None, true), other).is_ok());
        assert!(may_read(&principal(None, false), own).unwrap_err().is(ProblemType::NotFound));
    }

    #[test]
    fn names_are_short_and_printable() {
        for good in ["x", "Dr. Köhler", &"ü".repeat(100)] {
            assert!(check_name("/name", good).is_ok(), "{good}");
        }
        for bad in ["", " x", "x ", "a\nb", "a\u{0}b", "a\u{202e}b", &"x".repeat(101)] {
            assert!(check_name("/name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_a_suspended_tenant_without_members_is_deletable() {
        let check = |state, members| Tenant::fixture(state).check_deletable(members);
        assert!(check(TenantState::Suspended, false).is_ok());
        assert!(check(TenantState::Deleting, false).is_ok());
        assert!(matches!(check(TenantState::Suspended, true), Err(Error::HasMembers)));
        assert!(matches!(check(TenantState::Active, false), Err(Error::Active)));
    }
}
