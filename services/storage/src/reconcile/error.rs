//! Why a reconcile did not complete, and whether it is retried.

use crds::ClusterError;
use storage_api::StorageKind;

use crate::{
    object_store::{self, NotConfigured},
    storage::{Reason, ReasonCode},
};

/// Error of a reconcile.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The cluster has no client.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The cluster refused a request, or did not respond.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The cluster did not respond in time.
    #[error("the cluster did not respond in time")]
    Silent,
    #[error(transparent)]
    ObjectStore(#[from] object_store::Error),
    #[error(transparent)]
    NoObjectStore(#[from] NotConfigured),
    #[error("cannot read or write the database")]
    Database(#[from] sqlx::Error),
}

/// When a reconcile is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// With backoff: the error may be temporary.
    Backoff,
    /// After a longer time: the request was refused, and probably will be again.
    Later,
}

impl Error {
    /// Returns the reason to show to users, and when to retry. Errors of this service's own database are not shown.
    pub(super) fn explain(&self, kind: StorageKind) -> (Option<Reason>, Retry) {
        let (unavailable, refused) = match kind {
            StorageKind::Volume => (ReasonCode::ClusterUnavailable, ReasonCode::ClusterRefused),
            StorageKind::Bucket => (ReasonCode::ObjectStoreUnavailable, ReasonCode::ObjectStoreRefused),
        };
        let refusal = |retry| (Some(Reason::new(refused, self.to_string())), retry);
        match self {
            Self::Database(_) => (None, Retry::Backoff),
            Self::Kube(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
                refusal(Retry::Later)
            }
            Self::ObjectStore(error @ object_store::Error::Refused { .. }) => {
                refusal(if error.is_transient() { Retry::Backoff } else { Retry::Later })
            }
            Self::Cluster(_) | Self::Kube(_) | Self::Silent => {
                let message = "The cluster does not respond. The platform retries.";
                (Some(Reason::new(unavailable, message)), Retry::Backoff)
            }
            Self::ObjectStore(_) => {
                let message = "The object store does not respond. The platform retries.";
                (Some(Reason::new(unavailable, message)), Retry::Backoff)
            }
            Self::NoObjectStore(_) => {
                (Some(Reason::new(unavailable, "No object store is configured.")), Retry::Backoff)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::object_store::Code;

    fn explained(error: impl Into<Error>, kind: StorageKind) -> (Option<ReasonCode>, Retry) {
        let (reason, retry) = error.into().explain(kind);
        (reason.map(|reason| reason.code), retry)
    }

    fn status(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status { code, ..Status::default() }))
    }

    #[test]
    fn a_refused_volume_is_retried_later() {
        for code in [400, 403, 422] {
            let refused = (Some(ReasonCode::ClusterRefused), Retry::Later);
            assert_eq!(explained(status(code), StorageKind::Volume), refused, "{code}");
        }
        let unavailable = (Some(ReasonCode::ClusterUnavailable), Retry::Backoff);
        for code in [401, 404, 409, 429, 500, 503] {
            assert_eq!(explained(status(code), StorageKind::Volume), unavailable, "{code}");
        }
        let unknown = ClusterError::Unknown("uk-1".into());
        assert_eq!(explained(unknown, StorageKind::Volume), unavailable);
    }

    #[test]
    fn a_refused_bucket_is_retried_later_unless_the_refusal_is_transient() {
        let refused = |code| {
            explained(
                object_store::Error::Refused { status: 403, code: Code::from(code) },
                StorageKind::Bucket,
            )
        };
        assert_eq!(refused("AccessDenied"), (Some(ReasonCode::ObjectStoreRefused), Retry::Later));
        assert_eq!(refused("NoSuchUser"), (Some(ReasonCode::ObjectStoreRefused), Retry::Backoff));
        let unavailable = (Some(ReasonCode::ObjectStoreUnavailable), Retry::Backoff);
        assert_eq!(explained(NotConfigured, StorageKind::Bucket), unavailable);
        assert_eq!(
            explained(object_store::Error::Unavailable("no route".into()), StorageKind::Bucket),
            unavailable
        );
    }

    #[test]
    fn an_error_of_the_database_says_nothing_about_the_storage() {
        assert_eq!(explained(sqlx::Error::PoolClosed, StorageKind::Bucket), (None, Retry::Backoff));
    }
}
