//! The audit log of this service: `/v1/job-audit` and `/v1/platform-job-audit`.

audit::log_routes! {
    /// Lists the audit log of the tenant's jobs: who submitted and cancelled them, newest first. For owners.
    tenant list_job_audit_entries = "/v1/job-audit";
    /// Lists the audit log of jobs and pools, of a tenant or of the platform, newest first. For administrators.
    platform list_platform_job_audit_entries = "/v1/platform-job-audit";
    /// Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
    /// administrators.
    verification get_platform_job_audit_verification = "/v1/platform-job-audit/verification";
}
