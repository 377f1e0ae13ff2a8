//! The audit log of this service: `/v1/audit` and `/v1/platform-audit`.

audit::log_routes! {
    crate::state::AppState;
    /// Lists who signed in and changed members and invitations of the tenant, newest first. For owners.
    tenant list_audit_entries = "/v1/audit";
    /// Lists who signed in and changed members and invitations of a tenant, or of the platform, newest first. For administrators.
    platform list_platform_audit_entries = "/v1/platform-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_audit_verification = "/v1/platform-audit/verification";
}
