//! Operations below `/internal/v1/`: which services may call them, and whether they act for a user.
//!
//! [`crate::Caller`] and [`crate::OnBehalf`] check it with the service token; `tests/callers.rs` fails while a documented
//! operation is not in the table.

use crate::scope::{Scope, fits};

/// Whether a service calls an operation in the request of a user, the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// On its own only: the operation does not decide by a user.
    None,
    /// On its own, or for a user, whose token needs the scope.
    Optional(Scope),
    /// For a user only, whose token needs the scope.
    Required(Scope),
}

/// Who may call an internal operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalRule {
    /// Names of services; none for all that have a service token.
    callers: Option<&'static [&'static str]>,
    /// Whether they act for a user.
    pub subject: Subject,
}

impl InternalRule {
    /// Returns whether the service may call the operation.
    #[must_use]
    pub fn allows(&self, service: &str) -> bool {
        self.callers.is_none_or(|names| names.contains(&service))
    }
}

const GATEWAY: Option<&[&str]> = Some(&["gateway"]);
const GPU: Option<&[&str]> = Some(&["gpu"]);
const GPU_AND_JOBS: Option<&[&str]> = Some(&["gpu", "jobs"]);
const JOBS: Option<&[&str]> = Some(&["jobs"]);
const IDENTITY: Option<&[&str]> = Some(&["identity"]);
/// Feeds for every service, and what services of the operator of the platform call (accounting, notifications).
const ALL: Option<&[&str]> = None;

/// Paths below `/internal/v1/` and below them. `*` is any segment. The first that fits counts.
const OPERATIONS: &[(&str, Option<&[&str]>, Subject)] = &[
    ("revocations", ALL, Subject::None),
    ("maker-checks", ALL, Subject::None),
    ("token-exchanges", GATEWAY, Subject::None),
    ("tenants/*/members", GPU, Subject::None),
    ("tenants/*/output-bucket", JOBS, Subject::None),
    ("tenants", IDENTITY, Subject::None),
    ("instances", JOBS, Subject::None),
    ("routes", GATEWAY, Subject::None),
    ("route-changes", GATEWAY, Subject::None),
    ("instance-activity", GATEWAY, Subject::None),
    ("tickets", GATEWAY, Subject::None),
    ("share-links/tickets", GATEWAY, Subject::Required(Scope::InstancesRead)),
    ("share-links", GATEWAY, Subject::None),
    ("allowances", ALL, Subject::None),
    ("events", ALL, Subject::None),
    ("job-events", ALL, Subject::None),
    ("usage", ALL, Subject::None),
    ("job-usage", ALL, Subject::None),
    // for an order of a user, or of another service; and for the prices of jobs
    ("gpu-specs", GPU_AND_JOBS, Subject::Optional(Scope::CatalogueRead)),
    ("datacenters", GPU, Subject::None),
    ("quotes", GPU, Subject::Required(Scope::InstancesRead)),
    ("queue-grants", GPU, Subject::None),
    ("queue/*", GPU, Subject::Optional(Scope::InstancesWrite)),
    ("queue", GPU, Subject::Optional(Scope::InstancesRead)),
    ("claims/*", GPU, Subject::None),
    ("claims", GPU, Subject::Optional(Scope::InstancesWrite)),
    ("spare-units", JOBS, Subject::None),
    ("buckets", JOBS, Subject::None),
    ("storages/*/downloads", JOBS, Subject::None),
    // the order that mounts a storage reads it
    ("storages/*/attachments", GPU, Subject::Optional(Scope::StoragesRead)),
];

/// Returns who may call the operation at a path; none if the table has no such path.
#[must_use]
pub fn internal_rule(path: &str) -> Option<InternalRule> {
    let path = path.strip_prefix("/internal/v1/")?;
    let (_, callers, subject) = *OPERATIONS.iter().find(|(pattern, ..)| fits(pattern, path))?;
    Some(InternalRule { callers, subject })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_rule_of_their_path() {
        for (path, gateway, gpu, subject) in [
            ("/internal/v1/token-exchanges", true, false, Subject::None),
            ("/internal/v1/tenants/ten_1/members/usr_1", false, true, Subject::None),
            ("/internal/v1/tenants/ten_1", false, false, Subject::None),
            ("/internal/v1/queue", false, true, Subject::Optional(Scope::InstancesRead)),
            ("/internal/v1/queue/inst_1", false, true, Subject::Optional(Scope::InstancesWrite)),
            ("/internal/v1/claims/inst_1", false, true, Subject::None),
            ("/internal/v1/usage", true, true, Subject::None),
        ] {
            let rule = internal_rule(path).unwrap();
            assert_eq!((rule.allows("gateway"), rule.allows("gpu")), (gateway, gpu), "{path}");
            assert_eq!(rule.subject, subject, "{path}");
        }
        for path in ["/internal/v1/queues", "/internal/v1/", "/internal/v2/queue", "/v1/queue"] {
            assert_eq!(internal_rule(path), None, "{path}");
        }
    }
}
