//! The configured limits.

use serde::Deserialize;

use super::SharedLimits;

/// Limits for callers. Each gateway process counts by itself, unless there is a shared store.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests per user and second (default 100).
    pub requests_per_second: u32,
    /// Burst of requests per user (default 200).
    pub request_burst: u32,
    /// Requests per tenant and second (default 500).
    pub tenant_requests_per_second: u32,
    /// Burst of requests per tenant (default 1,000).
    pub tenant_request_burst: u32,
    /// Requests per client address and second (default 1,000): an office may have one address.
    pub address_requests_per_second: u32,
    /// Burst of requests per client address (default 2,000).
    pub address_request_burst: u32,
    /// Requests of a tenant to the API at a time (default 500), until their response begins. Each gateway counts by itself.
    pub tenant_requests_at_a_time: usize,
    /// Requests and WebSockets to the instances of a tenant at a time (default 1,000), until they have ended. Each gateway counts by
    /// itself.
    pub instance_requests_at_a_time: usize,
    /// The store in which all gateways count together.
    pub shared: Option<SharedLimits>,
    /// Sign-ins, refreshes and ticket redemptions per client address and minute (default 120).
    pub sign_ins_per_minute: u32,
    /// Burst of sign-ins, refreshes and ticket redemptions per client address (default 60).
    pub sign_in_burst: u32,
    /// Open connections (default 10,000). Further connections wait to be accepted.
    pub connections: usize,
    /// Open connections of one client address (default 1,000). Further connections are closed.
    pub connections_per_address: usize,
    /// Size of a request's head, in bytes (default 65,536).
    pub head_bytes: usize,
    /// Time to send a request's head, in seconds (default 15).
    pub head_seconds: u32,
    /// Size of the body of a request to the API, in bytes (default 262,144). Instances have no such limit.
    pub body_bytes: usize,
    /// Time to send the body of a request to the API, in seconds (default 30).
    pub body_seconds: u32,
    /// Time for a service to begin its response, in seconds (default 60). Instances have no such limit.
    pub answer_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_second: 100,
            request_burst: 200,
            tenant_requests_per_second: 500,
            tenant_request_burst: 1000,
            tenant_requests_at_a_time: 500,
            instance_requests_at_a_time: 1000,
            address_requests_per_second: 1000,
            address_request_burst: 2000,
            shared: None,
            sign_ins_per_minute: 120,
            sign_in_burst: 60,
            connections: 10_000,
            connections_per_address: 1000,
            head_bytes: 64 * 1024,
            head_seconds: 15,
            body_bytes: 256 * 1024,
            body_seconds: 30,
            answer_seconds: 60,
        }
    }
}
