//! Preconditions of requests, checksums and times.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use s3s::dto::{ETagCondition, EncodingType, Timestamp};
use s3s::{S3Result, s3_error};

use crate::objects::Meta;

/// Milliseconds since 1970 as an S3 timestamp.
pub(crate) fn time(ms: i64) -> Timestamp {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    (SystemTime::UNIX_EPOCH + since).into()
}

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// How a list writes names: with `encoding-type=url`, encoded, as XML cannot hold every character.
#[derive(Clone, Copy)]
pub(crate) struct Encoding(bool);

impl Encoding {
    pub(crate) fn new(requested: Option<&EncodingType>) -> Self {
        Self(requested.is_some_and(|requested| requested.as_str() == EncodingType::URL))
    }

    pub(crate) fn of(self, name: String) -> String {
        if self.0 { url::form_urlencoded::byte_serialize(name.as_bytes()).collect() } else { name }
    }
}

/// Checks `If-Match` and `If-None-Match` of a write against the current object.
pub(crate) fn precondition(
    there: Option<&Meta>,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    let is = |condition: &ETagCondition| match condition {
        ETagCondition::Any => there.is_some(),
        ETagCondition::ETag(tag) => there.is_some_and(|meta| tag.value() == meta.etag),
    };
    if if_match.is_some_and(|c| !is(c)) || if_none_match.is_some_and(is) {
        return Err(s3_error!(PreconditionFailed));
    }
    Ok(())
}

/// Checks the conditions of a read.
///
/// # Errors
/// 412 or 304.
pub(crate) fn readable(
    meta: &Meta,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
    modified_since: Option<&Timestamp>,
    unmodified_since: Option<&Timestamp>,
) -> S3Result<()> {
    let is = |condition: &ETagCondition| match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(tag) => tag.value() == meta.etag,
    };
    // HTTP dates have whole seconds
    let modified = time(meta.modified_ms / 1000 * 1000);
    if if_match.is_some_and(|c| !is(c))
        || if_match.is_none() && unmodified_since.is_some_and(|t| modified > *t)
    {
        return Err(s3_error!(PreconditionFailed));
    }
    if if_none_match.is_some_and(is)
        || if_none_match.is_none() && modified_since.is_some_and(|t| modified <= *t)
    {
        return Err(s3_error!(NotModified));
    }
    Ok(())
}

/// Checks a `Content-MD5` header.
pub(crate) fn check_md5(content_md5: Option<&str>, actual: [u8; 16]) -> S3Result<()> {
    let Some(text) = content_md5 else {
        return Ok(());
    };
    match base64::engine::general_purpose::STANDARD.decode(text) {
        Ok(bytes) if bytes == actual => Ok(()),
        Ok(bytes) if bytes.len() == 16 => Err(s3_error!(BadDigest)),
        _ => Err(s3_error!(InvalidDigest)),
    }
}
