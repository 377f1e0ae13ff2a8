//! Downloads, and the consequences of a failed attempt.

use std::{fmt, time::Duration};

use crds::DownloadReason as Observed;
use ids::{DeploymentId, StorageId, TenantId};
use serde::{Deserialize, Serialize};
use storage_api::DownloadState;
use utoipa::ToSchema;

/// Maximum number of attempts of a download.
const MOST_ATTEMPTS: i32 = 6;
/// Delay after the first failed attempt; it doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_secs(2);

/// Why a download is pending or failed. New codes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum DownloadReason {
    /// Pending: the volume is not available.
    VolumeUnavailable,
    /// Pending: other downloads onto the volume come first.
    Queued,
    /// Pending: the tenant is suspended.
    TenantSuspended,
    /// Pending: the object store does not respond. The platform retries.
    ObjectStoreUnavailable,
    /// Pending: it was requested from the cluster.
    Requested,
    /// Pending: its pod waits for a node.
    Scheduling,
    /// Pending: its pod is being started.
    Starting,
    /// Pending: the file is being downloaded.
    Downloading,
    /// Pending: an attempt has failed, which the message explains. The platform retries.
    Retrying,
    /// Failed: the bucket does not have the object, or not with this size.
    ObjectGone,
    /// Failed: the object store refuses the address.
    UrlRefused,
    /// Failed: the object store cannot be reached from the cluster.
    Unreachable,
    /// Failed: the object has other content than announced.
    ContentMismatch,
    /// Failed: no space is left on the volume.
    VolumeFull,
    /// Failed: the path cannot be written.
    PathNotWritable,
    /// Failed: the pod has failed.
    PodFailed,
    /// Failed: no attempt ended in time.
    TimedOut,
}

impl fmt::Display for DownloadReason {
    /// The code as in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<Observed> for DownloadReason {
    fn from(observed: Observed) -> Self {
        match observed {
            Observed::Scheduling => Self::Scheduling,
            Observed::Starting => Self::Starting,
            Observed::Downloading => Self::Downloading,
            Observed::UrlRefused => Self::UrlRefused,
            Observed::Unreachable => Self::Unreachable,
            Observed::ContentMismatch => Self::ContentMismatch,
            Observed::VolumeFull => Self::VolumeFull,
            Observed::PathNotWritable => Self::PathNotWritable,
            Observed::PodFailed => Self::PodFailed,
        }
    }
}

/// A download that is not finished.
#[derive(Debug, Clone)]
pub(crate) struct Download {
    pub(crate) id: DeploymentId,
    pub(crate) tenant: TenantId,
    pub(crate) bucket: StorageId,
    pub(crate) object: String,
    pub(crate) path: String,
    pub(crate) bytes: i64,
    /// In hexadecimal.
    pub(crate) sha256: String,
    pub(crate) state: DownloadState,
    pub(crate) reason: Option<DownloadReason>,
    pub(crate) message: Option<String>,
    pub(crate) attempt: i32,
    /// Seconds until the attempt may begin; negative if it may have begun earlier.
    pub(crate) due_in: f64,
    /// Seconds since its address was written.
    pub(crate) signed_since: Option<f64>,
}

impl Download {
    /// Name of its Secret, and in the custom resource.
    pub(crate) fn name(&self) -> String {
        self.id.k8s_name()
    }
}

/// The consequence of a failed attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another attempt, after this time.
    Repeat(Duration),
    /// No further attempt.
    GiveUp,
}

/// Failures that may be temporary are retried, with a new address; failures that the user has to fix are not.
pub(crate) fn after_failure(attempt: i32, reason: DownloadReason) -> Next {
    let may_pass = matches!(
        reason,
        DownloadReason::UrlRefused
            | DownloadReason::Unreachable
            | DownloadReason::PodFailed
            | DownloadReason::TimedOut
    );
    match u32::try_from(attempt - 1) {
        Ok(before) if may_pass && attempt < MOST_ATTEMPTS => Next::Repeat(FIRST_DELAY * 2_u32.pow(before)),
        _ => Next::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_repeated_some_times_and_what_a_user_has_to_change_never() {
        let seconds = |attempt| match after_failure(attempt, DownloadReason::UrlRefused) {
            Next::Repeat(delay) => Some(delay.as_secs()),
            Next::GiveUp => None,
        };
        assert_eq!([1, 2, 5, 6, 7].map(seconds), [Some(2), Some(4), Some(32), None, None]);
        for reason in
            [DownloadReason::VolumeFull, DownloadReason::PathNotWritable, DownloadReason::ContentMismatch]
        {
            assert_eq!(after_failure(1, reason), Next::GiveUp, "{reason}");
        }
    }
}
