//! Authentication and authorization: a key belongs to a user, a user sees only the buckets it owns (other buckets:
//! `AccessDenied`, as in RGW) and objects that others let it read, and a suspended user sees nothing.

use std::sync::Arc;

use http::StatusCode;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::path::S3Path;
use s3s::{S3Request, S3Result, s3_error};

use crate::error::custom;
use crate::state::Document;
use crate::store::Store;

pub(crate) struct Auth(pub(crate) Arc<Store>);
pub(crate) struct Access(pub(crate) Arc<Store>);

/// The user that signed a request; [`Access`] adds it to the request.
#[derive(Clone)]
pub(crate) struct Uid(pub(crate) String);

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
        let (uid, is_read) = {
            let document = self.0.state.read();
            let Some((user, _)) = document.by_key(&credentials.access_key) else {
                return Err(s3_error!(InvalidAccessKeyId));
            };
            if user.suspended {
                return Err(custom("UserSuspended", StatusCode::FORBIDDEN));
            }
            let is_read = matches!(cx.s3_op().name(), "GetObject" | "HeadObject");
            match cx.s3_path() {
                S3Path::Root => {}
                S3Path::Bucket { .. } if cx.s3_op().name() == "CreateBucket" => {}
                S3Path::Object { .. } if is_read => {}
                S3Path::Bucket { bucket } | S3Path::Object { bucket, .. } => {
                    owned(&document, bucket, &user.uid)?;
                }
            }
            (user.uid.clone(), is_read)
        };
        if let (true, S3Path::Object { bucket, key }) = (is_read, cx.s3_path()) {
            self.0.check_readable(bucket, key, &uid)?;
        }
        cx.extensions_mut().insert(Uid(uid));
        Ok(())
    }
}

/// Checks that the user owns the bucket.
pub(crate) fn owned(document: &Document, bucket: &str, uid: &str) -> S3Result<()> {
    match document.buckets.get(bucket) {
        None => Err(s3_error!(NoSuchBucket)),
        Some(found) if found.owner != uid => Err(s3_error!(AccessDenied)),
        Some(_) => Ok(()),
    }
}

/// The user that signed the request.
pub(crate) fn uid<T>(request: &S3Request<T>) -> S3Result<String> {
    match request.extensions.get::<Uid>() {
        Some(uid) => Ok(uid.0.clone()),
        None => Err(s3_error!(AccessDenied)),
    }
}
