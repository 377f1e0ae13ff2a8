//! The audit log of this service: `/v1/instance-audit` and `/v1/platform-instance-audit`.

audit::log_routes! {
    crate::state::AppState;
    /// Lists who changed instances and their keys of the tenant, newest first. For owners.
    tenant list_instance_audit_entries = "/v1/instance-audit";
    /// Lists who changed instances and their keys of a tenant, or of the platform, newest first. For administrators.
    platform list_platform_instance_audit_entries = "/v1/platform-instance-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_instance_audit_verification = "/v1/platform-instance-audit/verification";
}
