//! Tenants as clients see them, and the rules for changing them.

use api::Checks;
use ids::TenantId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::Error;

/// The state of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum TenantState {
    /// Members can sign in to it.
    Active,
    /// Nobody can sign in to it or refresh a session for it. Access tokens stay valid until they expire; instances
    /// and storages stay.
    Suspended,
}

/// A tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Tenant {
    /// Id of the tenant.
    pub(crate) id: TenantId,
    /// Name of the tenant. Unique, ignoring case.
    pub(crate) name: String,
    /// State of the tenant.
    pub(crate) state: TenantState,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// When it was created.
    pub(crate) created_at: Timestamp,
    /// When the tenant last changed.
    pub(crate) updated_at: Timestamp,
}

/// A reference to a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TenantRef {
    /// Id of the tenant.
    pub(crate) id: TenantId,
    /// Name of the tenant.
    pub(crate) name: String,
}

/// A tenant to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTenant {
    /// Name of the tenant: 1 to 100 characters, unique, ignoring case.
    pub(crate) name: String,
}

/// A change of a tenant. Absent members stay unchanged.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TenantChange {
    /// A new name.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// The new state.
    #[serde(default)]
    pub(crate) state: Option<TenantState>,
}

impl Tenant {
    /// # Errors
    /// If the tenant is active, or has members besides its owners.
    pub(super) fn check_deletable(&self, has_more_than_owners: bool) -> Result<(), Error> {
        match self.state {
            TenantState::Active => Err(Error::TenantActive),
            TenantState::Suspended if has_more_than_owners => Err(Error::TenantHasMembers),
            TenantState::Suspended => Ok(()),
        }
    }
}

/// Checks a display name of 1 to 100 characters; see [`api::Checks::display_name`].
///
/// # Errors
/// Names the field.
pub(crate) fn check_name(pointer: &'static str, name: &str) -> Result<(), Error> {
    let mut checks = Checks::default();
    checks.display_name(pointer, name, 100);
    checks.into_errors().pop().map_or(Ok(()), |error| Err(Error::invalid(pointer, error.detail)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let tenant = |state| Tenant {
            id: TenantId::new(),
            name: "x".to_owned(),
            state,
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let check = |state, members| tenant(state).check_deletable(members);
        assert!(check(TenantState::Suspended, false).is_ok());
        assert!(matches!(check(TenantState::Suspended, true), Err(Error::TenantHasMembers)));
        assert!(matches!(check(TenantState::Active, false), Err(Error::TenantActive)));
    }
}
