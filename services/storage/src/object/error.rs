//! Errors of the use of a bucket.

use api::Problem;

use crate::{
    object_store::{self, Denial, NotConfigured},
    storage,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The tenant has no such bucket.
    #[error("not found")]
    NotFound,
    #[error(transparent)]
    Storage(#[from] storage::Error),
    #[error(transparent)]
    Tenant(#[from] tenants::Error),
    #[error(transparent)]
    NotConfigured(#[from] NotConfigured),
    #[error(transparent)]
    ObjectStore(#[from] object_store::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl Error {
    /// Maps the error of a call for a bucket. A missing bucket, or one closed by a policy, stays so until its
    /// tenant acts.
    pub(super) fn of_call(error: object_store::Error) -> Self {
        match error.denial() {
            Some(Denial::Missing) => storage::Error::NotAvailable("gone from the object store").into(),
            Some(Denial::Full | Denial::Refused) => {
                storage::Error::NotAvailable("closed by a policy of the bucket").into()
            }
            None => error.into(),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::Storage(cause) => cause.into(),
            Error::Tenant(cause) => cause.into(),
            Error::NotConfigured(cause) => cause.into(),
            Error::ObjectStore(cause) => cause.into(),
            Error::Database(cause) => cause.into(),
        }
    }
}
