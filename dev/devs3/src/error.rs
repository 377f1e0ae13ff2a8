//! The errors that all parts of the store share.

use std::io;

use http::StatusCode;
use s3s::{S3Error, S3ErrorCode, s3_error};

/// An error with a code that s3s does not know.
pub(crate) fn custom(code: &'static str, status: StatusCode) -> S3Error {
    let mut error = S3Error::new(S3ErrorCode::Custom(code.into()));
    error.set_status_code(status);
    error
}

/// The S3 error of a failed file operation. A missing folder is a missing bucket.
pub(crate) fn failed(error: io::Error) -> S3Error {
    if error.kind() == io::ErrorKind::NotFound {
        return s3_error!(NoSuchBucket);
    }
    S3Error::with_source(S3ErrorCode::InternalError, Box::new(error))
}

/// An error while a body is read or a change is stored.
pub(crate) struct Failure(pub(crate) S3Error);

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(failed(error))
    }
}

impl From<S3Error> for Failure {
    fn from(error: S3Error) -> Self {
        Self(error)
    }
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Failure {
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        // s3s reports a wrong checksum or chunk signature as an S3 error inside the stream
        match error.downcast::<S3Error>() {
            Ok(error) => Self(*error),
            Err(error) => Self(S3Error::with_source(S3ErrorCode::IncompleteBody, error)),
        }
    }
}
