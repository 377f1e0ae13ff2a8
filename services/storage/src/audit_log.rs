//! The audit log of this service: `/v1/storage-audit` and `/v1/platform-storage-audit`.

audit::log_routes! {
    /// Lists the audit log of the tenant's storages and credentials, newest first. For owners.
    tenant list_storage_audit_entries = "/v1/storage-audit";
    /// Lists the audit log of storages and credentials, of a tenant or of the platform, newest first. For
    /// administrators.
    platform list_platform_storage_audit_entries = "/v1/platform-storage-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_storage_audit_verification = "/v1/platform-storage-audit/verification";
}
