//! The audit log of this service: `/v1/platform-stock-audit`.

audit::log_routes! {
    /// Lists the audit log of the stock and its catalogue, of a tenant or of the platform, newest first. For
    /// administrators.
    platform list_platform_stock_audit_entries = "/v1/platform-stock-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_stock_audit_verification = "/v1/platform-stock-audit/verification";
}
