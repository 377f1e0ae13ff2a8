//! Why a request fails, and the problem that the caller gets.

use api::{Problem, ProblemType};
use clients::Error as ClientError;

use crate::{
    budget::Refused,
    cluster::PodError,
    instance::{Command, InstanceState, NotAllowed, Unexpected},
    isolation::NotIsolated,
    quota::Exceeded,
};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The instance's state does not allow the command.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// What was ordered can be changed only while the instance is stopped.
    #[error("the instance is {}", .0.as_str())]
    NotStopped(InstanceState),
    /// Only a running instance has an idle time.
    #[error("the instance is {}", .0.as_str())]
    NothingToPostpone(InstanceState),
    /// The instance is not stopped when it is idle.
    #[error("the instance has no idle stop")]
    IdleStopNotSet,
    /// A service of the platform manages the instance.
    #[error("the instance is managed by {0}")]
    Managed(String),
    /// Another order has this instance id.
    #[error("the instance exists")]
    InstanceExists,
    /// The instance holds a unit of the present specification.
    #[error("the instance holds a unit")]
    UnitHeld,
    /// Another service does not answer, or not as expected.
    #[error("{service} does not answer")]
    Service {
        /// Name for people: "The stock service".
        service: &'static str,
        /// Cause.
        #[source]
        cause: ClientError,
    },
    /// The unit of the instance cannot be held.
    #[error("holds of this unit are not offered")]
    HoldNotOffered,
    /// The instance has no running container.
    #[error("the instance is not running")]
    NotRunning,
    /// The log or terminal of the container is not available.
    #[error(transparent)]
    Pod(#[from] PodError),
    /// The instance has as many share links as it may have, which is this many.
    #[error("the instance has {limit} share links")]
    TooManyShareLinks {
        /// The limit.
        limit: i64,
    },
    /// The session does not exist, is another user's, or another replica runs it.
    #[error("there is no such terminal session")]
    TerminalSessionEnded,
    /// This platform keeps no logs.
    #[error("no archive of logs is configured")]
    LogArchiveDisabled,
    /// The log of events does not have all events after the requested position.
    #[error("the log is complete after {oldest} up to {newest}")]
    EventsDeleted {
        /// Events up to this sequence number were deleted.
        oldest: i64,
        /// Sequence number of the newest event.
        newest: i64,
    },
    /// The user, or the instance, has this SSH key.
    #[error("the SSH key exists")]
    SshKeyExists,
    /// The user, or the instance, has as many SSH keys as it may have, which is this many.
    #[error("there are {limit} SSH keys")]
    TooManySshKeys {
        /// The limit.
        limit: i64,
    },
    /// No unit of the datacenter runs code of tenants.
    #[error("code of tenants does not run: {}", .0.message)]
    NotIsolated(NotIsolated),
    /// The tenant has a registry credential of this name.
    #[error("the registry credential exists")]
    RegistryCredentialExists,
    /// The registry credential that the instance names was deleted.
    #[error("the registry credential of the instance was deleted")]
    RegistryCredentialMissing,
    /// The tenant has as many registry credentials as it may have, which is this many.
    #[error("there are {limit} registry credentials")]
    TooManyRegistryCredentials {
        /// The limit.
        limit: i64,
    },
    /// The catalogue has this version of the service.
    #[error("the service version exists")]
    ServiceVersionExists,
    /// A row that this transaction has locked was changed.
    #[error("a locked row has changed")]
    LockedRowChanged,
    /// The tenant is suspended or being deleted.
    #[error("the tenant is suspended")]
    TenantSuspended,
    /// The tenant's limits do not allow it.
    #[error(transparent)]
    QuotaExceeded(#[from] Exceeded),
    /// The tenant may not run images of its own.
    #[error("the tenant may not run images of its own")]
    OwnImagesNotAllowed,
    /// The tenant's budget does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// An instance cannot be ended in its state.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// The database fails.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The operating system returns no random bytes.
    #[error("no random bytes")]
    NoRandomness,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            // there is no hold
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
            Error::NotStopped(state) => Self::new(
                ProblemType::InstanceState,
                format!(
                    "What was ordered can be changed while the instance is stopped; it is {}.",
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
                Self::new(ProblemType::IdleStopNotSet, "The instance is not stopped when it is idle.")
            }
            Error::Managed(service) => Self::new(
                ProblemType::InstanceManaged,
                format!("The service `{service}` of the platform manages the instance."),
            )
            .with("managed_by", service),
            Error::InstanceExists => {
                Self::new(ProblemType::InstanceExists, "Another order created an instance with this id.")
            }
            Error::UnitHeld => Self::new(
                ProblemType::InstanceState,
                "The instance holds a unit: its GPU specification and datacenter cannot be changed meanwhile.",
            )
            .with("state", InstanceState::Stopped)
            .next(
                "Give up the hold with DELETE /v1/instances/{id}/hold, and wait until the unit is released.",
            ),
            // the call was made as the caller, whose API key lacks the scope
            Error::Service { cause: ClientError::Problem(problem), .. }
                if problem.is(ProblemType::InsufficientScope) =>
            {
                let scope = problem.extra.get("scope").cloned();
                Self::new(ProblemType::InsufficientScope, problem.detail).with("scope", scope)
            }
            Error::Service { service, cause } => Self::unavailable(service, cause),
            Error::HoldNotOffered => Self::new(
                ProblemType::HoldNotOffered,
                "When the instance claimed its unit, holds of this GPU specification were not offered.",
            ),
            Error::NotRunning => {
                Self::new(ProblemType::InstanceNotRunning, "The instance has no running container.")
            }
            Error::Pod(PodError::NotRunning(message)) => {
                Self::from(Error::NotRunning).with("message", message)
            }
            Error::Pod(cause) => Self::unavailable("The cluster", cause),
            Error::TerminalSessionEnded => Self::new(
                ProblemType::TerminalSessionEnded,
                "The session has ended, or another replica of the service runs it.",
            ),
            Error::LogArchiveDisabled => Self::new(
                ProblemType::LogArchiveDisabled,
                "Without an archive, a log can be read only while its container exists.",
            ),
            Error::EventsDeleted { oldest, newest } => Self::new(
                ProblemType::EventsDeleted,
                format!("The log has the events after {oldest}, up to {newest}."),
            )
            .with("oldest", oldest)
            .with("newest", newest),
            Error::SshKeyExists => Self::new(ProblemType::SshKeyExists, "This key has been added before."),
            Error::TooManySshKeys { limit } => {
                Self::new(ProblemType::TooManySshKeys, format!("There are {limit} keys."))
                    .with("limit", limit)
            }
            Error::TooManyShareLinks { limit } => {
                Self::new(ProblemType::TooManyShareLinks, format!("There are {limit} share links."))
                    .with("limit", limit)
            }
            Error::NotIsolated(NotIsolated { message, datacenters }) => {
                Self::new(ProblemType::IsolationUnavailable, message).with("datacenters", datacenters)
            }
            Error::RegistryCredentialExists => Self::new(
                ProblemType::RegistryCredentialExists,
                "The tenant has a registry credential of this name.",
            ),
            Error::RegistryCredentialMissing => Self::new(
                ProblemType::RegistryCredentialMissing,
                "The registry credential with which the image is to be pulled was deleted.",
            ),
            Error::TooManyRegistryCredentials { limit } => Self::new(
                ProblemType::TooManyRegistryCredentials,
                format!("There are {limit} registry credentials."),
            )
            .with("limit", limit),
            Error::ServiceVersionExists => {
                Self::new(ProblemType::ServiceVersionExists, "The catalogue has this version of the service.")
            }
            Error::TenantSuspended => Self::new(
                ProblemType::TenantSuspended,
                "Nothing can be started while the tenant is suspended.",
            ),
            Error::QuotaExceeded(exceeded) => exceeded.into(),
            Error::OwnImagesNotAllowed => {
                Self::new(ProblemType::Forbidden, "The tenant may not run images of its own.").next(
                    "Choose a service of GET /v1/services, or ask an administrator of the platform to allow images \
                     of your own (`own_images` of the tenant's quota).",
                )
            }
            Error::Refused(refused) => refused.into(),
            Error::Database(error) => error.into(),
            error @ (Error::LockedRowChanged | Error::Unexpected(_) | Error::NoRandomness) => {
                Self::internal(error)
            }
        }
    }
}

impl From<Exceeded> for Problem {
    fn from(exceeded: Exceeded) -> Self {
        let detail = exceeded.to_string();
        match exceeded {
            Exceeded::Number { limit, most, used, requested } => {
                Self::new(ProblemType::QuotaExceeded, detail)
                    .with("quota", limit.to_string())
                    .with("limit", most)
                    .with("used", used)
                    .with("requested", requested)
            }
            Exceeded::Cost { most, used, requested, currency } => {
                Self::new(ProblemType::CostLimitExceeded, detail)
                    .with("limit", most)
                    .with("used", used)
                    .with("requested", requested)
                    .with("currency", currency)
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

#[cfg(test)]
mod tests {
    use api::ProblemDetails;

    use super::*;

    #[test]
    fn a_scope_that_another_service_misses_is_named() {
        let refused = Problem::new(ProblemType::InsufficientScope, "This needs the scope `storages:read`.")
            .with("scope", "storages:read");
        let cause = ClientError::Problem(Box::new(ProblemDetails::from(refused)));
        let problem = Problem::from(Error::Service { service: "The storage service", cause });
        assert_eq!((problem.status.as_u16(), &problem.extra["scope"]), (403, &"storages:read".into()));
    }
}
