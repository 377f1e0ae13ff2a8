//! Why a request about an instance is refused, and the problem that the caller gets.

use api::{Problem, ProblemType};
use gpu_core::instance::{Command, InstanceState, NotAllowed, Refusal, Unexpected};

/// Errors of requests about an instance.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The instance's state does not allow the command.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The request is not possible with this instance.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The instance does not run, so there is no idle stop to postpone.
    #[error("the instance is {}", .0.as_str())]
    NothingToPostpone(InstanceState),
    /// The instance has no idle stop.
    #[error("the instance has no idle stop")]
    IdleStopNotSet,
    /// Another order has this instance id.
    #[error("the instance exists")]
    Exists,
    /// The unit of the instance cannot be held.
    #[error("holds of this unit are not offered")]
    HoldNotOffered,
    /// The instance has no running container.
    #[error("the instance is not running")]
    NotRunning,
    /// A row that this transaction has locked was changed.
    #[error("a locked row has changed")]
    LockedRowChanged,
    /// The instance cannot be ended in its state.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// The database fails.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            // the instance has no hold
            Error::NotAllowed(NotAllowed { command: Command::ReleaseHold, .. }) => Self::not_found(),
            Error::NotAllowed(NotAllowed { command, state }) => {
                let problem = Self::new(
                    ProblemType::InstanceState,
                    format!("A {} instance cannot be {}.", state.as_str(), participle(command)),
                )
                .with("state", state);
                match (command, state) {
                    (Command::Start, InstanceState::Running) => problem.next("Open the instance's URL."),
                    (Command::Restart, InstanceState::Stopped) => problem.next("Start the instance."),
                    _ => problem,
                }
            }
            Error::Refused(Refusal::NotStopped(state)) => Self::new(
                ProblemType::InstanceState,
                format!(
                    "These fields can be changed only while the instance is stopped; it is {}.",
                    state.as_str()
                ),
            )
            .with("state", state)
            .next("Stop the instance first."),
            Error::NothingToPostpone(state) => Self::new(
                ProblemType::InstanceState,
                format!("Only a running instance has an idle time; it is {}.", state.as_str()),
            )
            .with("state", state)
            .next("Start the instance."),
            Error::IdleStopNotSet => {
                Self::new(ProblemType::IdleStopNotSet, "The instance has no idle stop.")
            }
            Error::Refused(Refusal::Managed(service)) => Self::new(
                ProblemType::InstanceManaged,
                format!("The service `{service}` of the platform manages the instance."),
            )
            .with("managed_by", service),
            Error::Exists => {
                Self::new(ProblemType::InstanceExists, "Another order created an instance with this id.")
            }
            Error::Refused(Refusal::UnitHeld) => Self::new(
                ProblemType::InstanceState,
                "The instance holds a unit: its GPU specification and datacenter cannot be changed meanwhile.",
            )
            .with("state", InstanceState::Stopped)
            .next(
                "Give up the hold with DELETE /v1/instances/{id}/hold, and wait until the unit is released.",
            ),
            Error::HoldNotOffered => Self::new(
                ProblemType::HoldNotOffered,
                "When the instance claimed its unit, holds of this GPU specification were not offered.",
            ),
            Error::NotRunning => {
                Self::new(ProblemType::InstanceNotRunning, "The instance has no running container.")
            }
            Error::Refused(Refusal::RegistryCredentialMissing) => Self::new(
                ProblemType::RegistryCredentialMissing,
                "The registry credential with which the image is to be pulled was deleted.",
            ),
            Error::Database(error) => error.into(),
            error @ (Error::LockedRowChanged | Error::Unexpected(_)) => {
                Self::internal(error)
            }
        }
    }
}

fn participle(command: Command) -> &'static str {
    match command {
        Command::Start => "started",
        Command::Stop => "stopped",
        Command::StopAndHold(_) => "stopped with a hold",
        Command::ReleaseHold => "released",
        Command::Restart => "restarted",
        Command::Delete => "deleted",
    }
}
