//! What stands between a request and its effect: quotas and preconditions.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use http::StatusCode;
use s3s::dto::{ETagCondition, Timestamp};
use s3s::{S3Result, s3_error};

use crate::access::custom;
use crate::objects::{Meta, Usage, rounded};
use crate::s3::Store;
use crate::state::Quota;

pub(crate) fn time(ms: i64) -> Timestamp {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    (SystemTime::UNIX_EPOCH + since).into()
}

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

impl Store {
    /// Refuses `adding` more bytes as one more object where a quota of the bucket or of its owner
    /// would be exceeded. Like RGW, it does not credit what an overwrite frees.
    pub(crate) fn room(&self, bucket: &str, used: Usage, adding: u64) -> S3Result<()> {
        let document = self.state.read();
        let Some(found) = document.buckets.get(bucket) else {
            return Err(s3_error!(NoSuchBucket));
        };
        let Some(user) = document.users.get(&found.owner) else {
            return Ok(());
        };
        let own = if found.quota.enabled { found.quota } else { user.bucket_quota };
        fits(own, used, adding)?;
        if user.user_quota.enabled {
            let mut total = used;
            for (name, _) in document.owned_by(&user.uid).filter(|(n, _)| *n != bucket) {
                total += self.objects.usage(name);
            }
            fits(user.user_quota, total, adding)?;
        }
        Ok(())
    }
}

fn fits(quota: Quota, used: Usage, adding: u64) -> S3Result<()> {
    let over = |limit: i64, value: u64| u64::try_from(limit).is_ok_and(|limit| value > limit);
    if quota.enabled
        && (over(quota.max_size, used.rounded + rounded(adding)) || over(quota.max_objects, used.objects + 1))
    {
        return Err(custom("QuotaExceeded", StatusCode::FORBIDDEN));
    }
    Ok(())
}

/// `If-Match`, `If-None-Match` of a write against what is there.
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

/// The conditions of a read: 412 or 304.
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
