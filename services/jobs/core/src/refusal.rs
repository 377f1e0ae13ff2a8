//! Why messages are refused. Pure.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of characters of the detail of a refusal, which may repeat text of the message.
const MAX_DETAIL: usize = 1_000;

/// Why a message was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "kebab-case"))]
#[schema(as = RefusalCode)]
pub enum Code {
    /// Not in the documented form, or names something that is not supported.
    Malformed,
    /// `user_id` is missing, or no valid credential.
    Unauthenticated,
    /// The tenant is suspended or being deleted.
    TenantSuspended,
    /// No application has the method.
    UnknownMethod,
    /// `taskType` is not that of the method.
    TaskTypeMismatch,
    /// The method does not accept the parameters.
    InvalidParameters,
    /// Uploads or models that the parameters name do not exist, or have no content.
    InputMissing,
    /// No pool has the checkpoint or base model that the parameters name.
    ModelMissing,
    /// `reqNo` is that of a job with other content.
    ReqNoReused,
    /// The message or its parameters are too large.
    TooLarge,
    /// No pool runs jobs.
    NoCapacityEver,
    /// The deadline is over, or too far ahead.
    DeadlinePassed,
    /// The tenant has as many jobs that have not ended as it may have.
    TooManyJobs,
    /// The routing key is neither `urgent` nor `ordinary`.
    UnknownRoutingKey,
    /// The expiration of the message has passed before it was taken in.
    MessageExpired,
    /// The message was delivered several times, and never taken in.
    DeliveryFailed,
    /// As many messages of the tenant wait to be taken in as may.
    TooManyMessages,
}

impl Code {
    #[cfg(test)]
    pub const ALL: [Self; 17] = [
        Self::Malformed,
        Self::Unauthenticated,
        Self::TenantSuspended,
        Self::UnknownMethod,
        Self::TaskTypeMismatch,
        Self::InvalidParameters,
        Self::InputMissing,
        Self::ModelMissing,
        Self::ReqNoReused,
        Self::TooLarge,
        Self::NoCapacityEver,
        Self::DeadlinePassed,
        Self::TooManyJobs,
        Self::UnknownRoutingKey,
        Self::MessageExpired,
        Self::DeliveryFailed,
        Self::TooManyMessages,
    ];

    /// The name in JSON and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unauthenticated => "unauthenticated",
            Self::TenantSuspended => "tenant-suspended",
            Self::UnknownMethod => "unknown-method",
            Self::TaskTypeMismatch => "task-type-mismatch",
            Self::InvalidParameters => "invalid-parameters",
            Self::InputMissing => "input-missing",
            Self::ModelMissing => "model-missing",
            Self::ReqNoReused => "req-no-reused",
            Self::TooLarge => "too-large",
            Self::NoCapacityEver => "no-capacity-ever",
            Self::DeadlinePassed => "deadline-passed",
            Self::TooManyJobs => "too-many-jobs",
            Self::UnknownRoutingKey => "unknown-routing-key",
            Self::MessageExpired => "message-expired",
            Self::DeliveryFailed => "delivery-failed",
            Self::TooManyMessages => "too-many-messages",
        }
    }
}

/// A message that is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    /// The reason, for a person.
    pub detail: String,
}

impl Refusal {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(MAX_DETAIL) {
            detail.truncate(end);
            detail.push('…');
        }
        Self { code, detail }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_have_one_name_and_are_documented() {
        let document = include_str!("../../../../docs/JOBS.md");
        for code in Code::ALL {
            assert_eq!(json!(code), code.as_str());
            assert!(document.contains(&format!("`{}`", code.as_str())), "{code:?} is not documented");
        }
    }
}
