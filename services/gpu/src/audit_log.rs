//! The audit log of this service: `/v1/instance-audit` and `/v1/platform-instance-audit`.

audit::log_routes! {
    /// Lists the audit log of the tenant's instances and their keys, newest first. For owners.
    tenant list_instance_audit_entries = "/v1/instance-audit";
    /// Lists the audit log of instances and their keys, of a tenant or of the platform, newest first. For
    /// administrators.
    platform list_platform_instance_audit_entries = "/v1/platform-instance-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_instance_audit_verification = "/v1/platform-instance-audit/verification";
}
