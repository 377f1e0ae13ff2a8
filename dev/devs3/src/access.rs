//! Who may call what: a key belongs to a user, a user sees only the buckets it owns (others:
//! `AccessDenied`, as RGW says it), a suspended user sees nothing; and the errors all parts share.

use std::io;
use std::sync::Arc;

use http::StatusCode;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result, s3_error};

use crate::s3::Store;
use crate::state::Document;

pub(crate) struct Auth(pub(crate) Arc<Store>);
pub(crate) struct Access(pub(crate) Arc<Store>);

/// The user a request was signed by, put beside the request by [`Access`].
#[derive(Clone)]
pub(crate) struct Uid(pub(crate) String);

/// A code that s3s has no name for.
pub(crate) fn custom(code: &'static str, status: StatusCode) -> S3Error {
    let mut error = S3Error::new(S3ErrorCode::Custom(code.into()));
    error.set_status_code(status);
    error
}

pub(crate) fn failed(error: io::Error) -> S3Error {
    if error.kind() == io::ErrorKind::NotFound {
        return s3_error!(NoSuchBucket);
    }
    S3Error::with_source(S3ErrorCode::InternalError, Box::new(error))
}

/// An error while a body is taken in or a change is stored.
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
        // a checksum or a chunk signature that does not fit comes as the S3 error it is
        match error.downcast::<S3Error>() {
            Ok(error) => Self(*error),
            Err(error) => Self(S3Error::with_source(S3ErrorCode::IncompleteBody, error)),
        }
    }
}

#[async_trait::async_trait]
impl S3Auth for Auth {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        match self.0.state.read().by_key(access_key) {
            Some((_, key)) => Ok(key.secret_key.as_str().into()),
            None => Err(s3_error!(InvalidAccessKeyId)),
        }
    }
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let Some(credentials) = cx.credentials() else {
            return Err(s3_error!(AccessDenied));
        };
        let uid = {
            let document = self.0.state.read();
            let Some((user, _)) = document.by_key(&credentials.access_key) else {
                return Err(s3_error!(InvalidAccessKeyId));
            };
            if user.suspended {
                return Err(custom("UserSuspended", StatusCode::FORBIDDEN));
            }
            match cx.s3_path() {
                S3Path::Root => {}
                S3Path::Bucket { .. } if cx.s3_op().name() == "CreateBucket" => {}
                S3Path::Bucket { bucket } | S3Path::Object { bucket, .. } => {
                    owned(&document, bucket, &user.uid)?;
                }
            }
            user.uid.clone()
        };
        cx.extensions_mut().insert(Uid(uid));
        Ok(())
    }
}

pub(crate) fn owned(document: &Document, bucket: &str, uid: &str) -> S3Result<()> {
    match document.buckets.get(bucket) {
        None => Err(s3_error!(NoSuchBucket)),
        Some(found) if found.owner != uid => Err(s3_error!(AccessDenied)),
        Some(_) => Ok(()),
    }
}

pub(crate) fn uid<T>(request: &S3Request<T>) -> S3Result<String> {
    match request.extensions.get::<Uid>() {
        Some(uid) => Ok(uid.0.clone()),
        None => Err(s3_error!(AccessDenied)),
    }
}
