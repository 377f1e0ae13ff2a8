//! Errors of calls to the object store.

use std::fmt;

use api::{Problem, ProblemType};

/// Error of a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The object store refused it.
    #[error("the object store refused: {code} ({status})")]
    Refused {
        /// HTTP status.
        status: u16,
        code: Code,
    },
    /// The object store did not respond, or not as expected.
    #[error("the object store does not respond")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// No object store is configured.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("no object store is configured")]
pub(crate) struct NotConfigured;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::unavailable("The object store", error)
    }
}

impl From<NotConfigured> for Problem {
    fn from(_: NotConfigured) -> Self {
        Self::new(
            ProblemType::NoObjectStore,
            "Buckets need an object store, and this platform is configured without one.",
        )
    }
}

/// Reasons why a bucket accepts no objects until its tenant fixes the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    /// Its quota is used up, or the object is too large.
    Full,
    /// It is not there any more.
    Missing,
    /// A policy forbids it, or a setting of the bucket.
    Refused,
}

/// Temporary refusals of a write: of S3, and of Ceph RGW. All others are permanent.
const PASSING: [&str; 12] = [
    "ConditionalRequestConflict",
    "ConcurrentModification",
    "InvalidAccessKeyId",
    "NoSuchUser",
    "OperationAborted",
    "RateLimitExceeded",
    "RequestTimeTooSkewed",
    "RequestTimeout",
    "SlowDown",
    "Throttling",
    "TooManyRequests",
    "UserSuspended",
];

impl Error {
    /// Returns why a bucket refuses an object, if a retry would also be refused.
    pub(crate) fn denial(&self) -> Option<Denial> {
        let Self::Refused { status, code } = self else { return None };
        let code = code.to_string();
        match code.as_str() {
            "QuotaExceeded" | "EntityTooLarge" | "XMinioAdminBucketQuotaExceeded" => Some(Denial::Full),
            "NoSuchBucket" => Some(Denial::Missing),
            passing if PASSING.contains(&passing) || matches!(status, 408 | 409 | 425 | 429) => None,
            _ => Some(Denial::Refused),
        }
    }

    pub(super) fn unavailable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unavailable(cause.into())
    }

    /// Whether the call was refused with this code.
    pub(crate) fn is(&self, expected: &Code) -> bool {
        matches!(self, Self::Refused { code, .. } if code == expected)
    }

    /// Whether a refused call may succeed soon: the user or the bucket disappeared between two calls, as when the
    /// tenant's last bucket is deleted while another one is created, or clocks differ for a moment.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Refused { code, .. } => matches!(
                code,
                Code::InvalidAccessKeyId
                    | Code::NoSuchUser
                    | Code::NoSuchKey
                    | Code::NoSuchBucket
                    | Code::RequestTimeTooSkewed
            ),
        }
    }
}

macro_rules! codes {
    ($($code:ident),+ $(,)?) => {
        /// Error code of S3 or Admin Ops.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) enum Code {
            $($code,)+
            /// A code without special handling.
            Other(String),
        }

        impl From<&str> for Code {
            fn from(text: &str) -> Self {
                match text {
                    $(stringify!($code) => Self::$code,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl fmt::Display for Code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$code => stringify!($code),)+
                    Self::Other(text) => text,
                })
            }
        }
    };
}

codes! {
    AccessDenied,
    BucketAlreadyExists,
    BucketAlreadyOwnedByYou,
    BucketNotEmpty,
    InvalidAccessKeyId,
    NoSuchBucket,
    NoSuchCORSConfiguration,
    NoSuchKey,
    NoSuchUpload,
    NoSuchUser,
    RequestTimeTooSkewed,
    UserAlreadyExists,
    UserSuspended,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_keeps_its_text() {
        for text in ["NoSuchBucket", "QuotaExceeded", ""] {
            assert_eq!(Code::from(text).to_string(), text);
        }
        assert_eq!(Code::from("NoSuchBucket"), Code::NoSuchBucket);
    }

    #[test]
    fn a_refusal_is_final_unless_it_passes() {
        let denial = |status, code: &str| Error::Refused { status, code: code.into() }.denial();
        assert_eq!(denial(403, "QuotaExceeded"), Some(Denial::Full));
        assert_eq!(denial(404, "NoSuchBucket"), Some(Denial::Missing));
        for code in ["AccessDenied", "SignatureDoesNotMatch", "KeyTooLongError", "InvalidRequest"] {
            assert_eq!(denial(403, code), Some(Denial::Refused), "{code}");
        }
        for (status, code) in [
            (403, "RequestTimeTooSkewed"),
            (400, "RequestTimeout"),
            (429, "Unknown"),
            (409, "OperationAborted"),
        ] {
            assert_eq!(denial(status, code), None, "{code}");
        }
        assert_eq!(Error::unavailable("no route").denial(), None);
    }

    #[test]
    fn what_disappeared_between_two_calls_is_transient() {
        let refused = |code| Error::Refused { status: 404, code };
        assert!(refused(Code::NoSuchUser).is_transient() && refused(Code::NoSuchUser).is(&Code::NoSuchUser));
        assert!(!refused(Code::AccessDenied).is_transient());
        assert!(!refused(Code::AccessDenied).is(&Code::NoSuchUser));
        let unavailable = Error::unavailable("no route");
        assert!(unavailable.is_transient() && !unavailable.is(&Code::NoSuchUser));
    }
}
