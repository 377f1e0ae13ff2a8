//! The audit log of this service: `/v1/audit` and `/v1/platform-audit`.

audit::log_routes! {
    /// Lists the audit log of the tenant: sign-ins and changes of members and invitations, newest first. For owners.
    tenant list_audit_entries = "/v1/audit";
    /// Lists the audit log of a tenant or of the platform: sign-ins and changes of members and invitations, newest
    /// first. For administrators.
    platform list_platform_audit_entries = "/v1/platform-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_audit_verification = "/v1/platform-audit/verification";
}
