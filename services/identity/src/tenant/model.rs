//! What a tenant is.

use api::Problem;
use ids::TenantId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether a tenant works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum TenantState {
    /// It does.
    Active,
    /// Nobody signs in to it or refreshes a session for it; access tokens given before live out their
    /// minutes. What it owns stays.
    Suspended,
}

/// A tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Tenant {
    /// Its id.
    pub(crate) id: TenantId,
    /// Its name, unique without regard to case.
    pub(crate) name: String,
    /// Whether it works.
    pub(crate) state: TenantState,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it last changed.
    pub(crate) updated_at: Timestamp,
}

/// A tenant in passing.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TenantRef {
    /// Its id.
    pub(crate) id: TenantId,
    /// Its name.
    pub(crate) name: String,
}

/// A tenant to be made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTenant {
    /// 1 to 100 characters, unique without regard to case.
    pub(crate) name: String,
}

/// What changes of a tenant; what is absent stays.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TenantChange {
    /// A new name.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Suspends it, or lets it work again.
    #[serde(default)]
    pub(crate) state: Option<TenantState>,
}

/// A name that a person can read: 1 to 100 characters, none of them control characters, no space at the
/// ends.
///
/// # Errors
/// 422 naming the field.
pub(crate) fn check_name(pointer: &str, name: &str) -> Result<(), Problem> {
    let chars = name.chars().count();
    if (1..=100).contains(&chars) && name.trim() == name && !name.chars().any(char::is_control) {
        Ok(())
    } else {
        Err(Problem::invalid_field(
            pointer,
            "must have 1 to 100 characters, no control characters, and no space at either end",
        ))
    }
}
