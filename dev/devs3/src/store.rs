//! Shared by all operations: the state, the objects, quotas, and the removal of a bucket.

use std::sync::Arc;

use http::StatusCode;
use s3s::dto::StreamingBlob;
use s3s::{S3Result, s3_error};

use crate::cors_rule::Rule;
use crate::error::{Failure, custom, failed};
use crate::objects::{Objects, Usage, rounded};
use crate::state::{Quota, State};
use crate::uploads;

pub(crate) struct Store {
    pub(crate) state: Arc<State>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) region: String,
}

impl Store {
    /// Checks the quotas of the bucket and its owner for one more object of `adding` bytes. Like RGW, it does not
    /// subtract what an overwrite frees.
    pub(crate) fn check_quota(&self, bucket: &str, used: Usage, adding: u64) -> S3Result<()> {
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

    /// Sets the CORS rules of a bucket.
    pub(crate) fn set_cors(&self, bucket: &str, rules: Vec<Rule>) -> S3Result<()> {
        self.state
            .change(|document| {
                let found = document.buckets.get_mut(bucket).ok_or(Failure(s3_error!(NoSuchBucket)))?;
                found.cors = rules;
                Ok(())
            })
            .map_err(|Failure(error)| error)
    }

    /// Removes a bucket; one with objects only with `purge`. The record is removed first: if the process is
    /// killed in between, the next start removes the files, which then have no owner.
    pub(crate) fn delete_bucket(&self, bucket: &str, purge: bool) -> S3Result<()> {
        self.state
            .change(|document| {
                if !document.buckets.contains_key(bucket) {
                    return Err(Failure(s3_error!(NoSuchBucket)));
                }
                if !purge && self.objects.usage(bucket).objects > 0 {
                    return Err(Failure(s3_error!(BucketNotEmpty)));
                }
                document.buckets.remove(bucket);
                Ok(())
            })
            .map_err(|Failure(error)| error)?;
        uploads::abort_all(&self.objects.uploads(), bucket).map_err(failed)?;
        self.objects.remove_bucket(bucket).map_err(failed)
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

/// A body with errors of the crate's type.
pub(crate) fn with_failures(
    blob: StreamingBlob,
) -> impl futures::Stream<Item = Result<bytes::Bytes, Failure>> + Unpin {
    futures::TryStreamExt::map_err(blob, Failure::from)
}
