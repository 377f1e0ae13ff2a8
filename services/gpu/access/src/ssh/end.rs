//! Why a connection ends.

/// Reasons why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The client is gone.
    Disconnected,
    /// The client did not log in in time.
    NotLoggedIn,
    /// The user's rights were revoked.
    RightsEnded,
    KeyDeleted,
    InstanceNotRunning,
    TenantNotActive,
    Idle,
    /// This replica is shutting down.
    ServiceStopped,
}

impl End {
    /// The code in the record.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::NotLoggedIn => "not_logged_in",
            Self::RightsEnded => "rights_ended",
            Self::KeyDeleted => "key_deleted",
            Self::InstanceNotRunning => "instance_not_running",
            Self::TenantNotActive => "tenant_not_active",
            Self::Idle => "idle",
            Self::ServiceStopped => "service_stopped",
        }
    }

    /// The message for the client.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Disconnected => "",
            Self::NotLoggedIn => "log-in took too long",
            Self::RightsEnded => "your rights have ended",
            Self::KeyDeleted => "the key was deleted",
            Self::InstanceNotRunning => "the instance is no longer running",
            Self::TenantNotActive => "the tenant is suspended",
            Self::Idle => "idle for too long",
            Self::ServiceStopped => "the service is restarting; connect again",
        }
    }
}
