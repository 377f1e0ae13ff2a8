//! Operations below `/internal/v1/`: which services may call them, and whether they act for a user.
//!
//! `platform.toml` has the rules, [`crate::Caller`] and [`crate::OnBehalf`] check them with the service
//! token; `tests/callers.rs` fails while a documented operation is not in the list.

use std::sync::LazyLock;

use platform::User;

use crate::{scope::Scope, table::Table};

/// Whether a service calls an operation in the request of a user, the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// On its own only: the operation does not depend on a user.
    None,
    /// On its own, or for a user with the scope in the token.
    Optional(Scope),
    /// For a user only, with the scope in the token.
    Required(Scope),
}

/// The callers of an internal operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternalRule {
    /// Names of services; none for all that have a service token.
    callers: Option<&'static [String]>,
    /// Whether they act for a user.
    pub subject: Subject,
}

impl InternalRule {
    /// Returns whether the service may call the operation.
    #[must_use]
    pub fn allows(&self, service: &str) -> bool {
        self.callers.is_none_or(|names| names.iter().any(|name| name == service))
    }
}

static OPERATIONS: LazyLock<Table<InternalRule>> = LazyLock::new(|| {
    let rule = |internal: &'static platform::Internal| {
        let scope =
            |text: &str| text.parse().expect("platform.toml: an internal operation needs a known scope");
        let subject = match (internal.user, internal.scope.as_deref().map(scope)) {
            (User::Optional, Some(scope)) => Subject::Optional(scope),
            (User::Required, Some(scope)) => Subject::Required(scope),
            _ => Subject::None,
        };
        InternalRule { callers: internal.callers.as_deref(), subject }
    };
    let services = platform::services().iter();
    Table::new(
        services
            .flat_map(|service| &service.internal)
            .map(|(path, internal)| (path.as_str(), rule(internal))),
    )
});

/// Returns the rule of the operation at a path; none if no service has it.
#[must_use]
pub fn internal_rule(path: &str) -> Option<InternalRule> {
    OPERATIONS.find(path.strip_prefix("/internal/v1/")?).copied()
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
