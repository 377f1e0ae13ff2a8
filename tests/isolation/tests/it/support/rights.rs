//! Who may send which request.

use super::{document::Operation, requests::reads};

/// The least that a caller must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Right {
    /// Anyone, without a token.
    Anyone,
    /// A user with any role in a tenant.
    Viewer,
    /// A user who may change what the tenant owns.
    Member,
    /// A user who manages the tenant.
    Owner,
    /// A platform administrator.
    Admin,
}

/// Collections for administrators only.
const PLATFORM: [&str; 8] = [
    "users",
    "signing-keys",
    "tenant-operations",
    "stock-operations",
    "stock-units",
    "stock-repairs",
    "stock-capacity",
    "platform",
];

/// Collections that everyone reads and only administrators change.
const CATALOGUE: [&str; 5] = ["datacenters", "gpu-specs", "services", "storage-specs", "stock"];

/// Further operations for administrators only.
const OF_ADMINISTRATORS: [&str; 4] = ["list_tenants", "create_tenant", "delete_tenant", "add_member"];

/// Operations for owners, besides those of audit logs.
const OF_OWNERS: [&str; 6] = [
    "update_tenant",
    "list_invitations",
    "create_invitation",
    "withdraw_invitation",
    "update_member",
    "remove_member",
];

/// Writes that change only what belongs to the caller, or nothing.
const PERSONAL: [&str; 23] = [
    "update_me",
    "update_session",
    "accept_invitation",
    "decline_invitation",
    "change_password",
    "end_session",
    "create_ssh_key",
    "delete_ssh_key",
    "quote_instance",
    "quote_job",
    "create_api_key",
    "delete_api_key",
    "end_session_by_id",
    "end_all_sessions",
    "create_totp",
    "start_totp",
    "remove_totp",
    "create_passkey_registration",
    "create_passkey",
    "update_passkey",
    "delete_passkey",
    "start_account_link",
    "delete_linked_account",
];

impl Right {
    /// What the operation requires. By default viewers read and members write.
    #[must_use]
    pub(crate) fn of(operation: &Operation) -> Self {
        let id = operation.id.as_str();
        let collection = operation.path.split('/').nth(2).unwrap_or_default();
        let reads = reads(&operation.method);
        if !operation.needs_token {
            Self::Anyone
        } else if collection.starts_with("platform-")
            || PLATFORM.contains(&collection)
            || (CATALOGUE.contains(&collection) && !reads)
            || OF_ADMINISTRATORS.contains(&id)
        {
            Self::Admin
        } else if OF_OWNERS.contains(&id) || id.ends_with("audit_entries") {
            Self::Owner
        } else if reads || PERSONAL.contains(&id) {
            Self::Viewer
        } else {
            Self::Member
        }
    }
}
