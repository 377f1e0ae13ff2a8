//! Why an object is not written.

use api::Problem;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The object is invalid: the caller has to change it.
    #[error("rejected by the Kubernetes API: {0}")]
    Rejected(String),
    #[error("the Kubernetes API failed")]
    Kubernetes(#[source] kube::Error),
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => Self::Rejected(status.message),
            other => Self::Kubernetes(other),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Rejected(message) => {
                Self::invalid_field("", format!("the cluster rejected the object: {message}"))
            }
            Error::Kubernetes(cause) => Self::unavailable("The Kubernetes API", cause),
        }
    }
}
