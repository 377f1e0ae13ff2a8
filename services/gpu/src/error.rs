//! What can go wrong in this service, and how each is said to callers. One mapping, here.

use api::{Problem, ProblemType};

use crate::instance::Illegal;

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The state does not allow it.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// A neighbour answered something of its own.
    #[error("{what} answered")]
    Neighbour {
        /// Which, as it is said to callers.
        what: &'static str,
        /// What.
        #[source]
        error: clients::Error,
    },
    /// Nothing runs whose log or terminal could be shown.
    #[error("nothing runs")]
    NothingRuns,
    /// A pod's log or terminal cannot be had.
    #[error("the cluster refused")]
    Pod(#[source] Box<kube::Error>),
    /// The same service and version are in the catalogue.
    #[error("it exists")]
    ImageExists,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Illegal(illegal) => {
                let next = match (illegal.action, illegal.state) {
                    ("start", "running") => "It runs already; open its URL.",
                    ("stop", "stopped") => "It is stopped already.",
                    ("restart", _) => "Start it, or wait until it runs.",
                    _ => "Wait until the operation under way (`operation_id`) has ended, then try again.",
                };
                Self::new(
                    ProblemType::InstanceState,
                    format!(
                        "To {} an instance is not possible while it is {}.",
                        illegal.action, illegal.state
                    ),
                )
                .with("state", illegal.state)
                .next(next)
            }
            Error::Neighbour { what, error } => Self::unavailable(what, error),
            Error::NothingRuns => Self::new(
                ProblemType::InstanceNotRunning,
                "There is no running container whose log or terminal could be shown.",
            ),
            Error::Pod(error) => match *error {
                kube::Error::Api(status) if status.is_not_found() || status.code == 400 => {
                    Self::from(Error::NothingRuns).with("message", status.message.clone())
                }
                other => Self::unavailable("The cluster", other),
            },
            Error::ImageExists => Self::new(
                ProblemType::ServiceVersionExists,
                "This version of this service is in the catalogue.",
            ),
        }
    }
}
