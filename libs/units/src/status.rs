//! What the operator reports about a unit, and words of its specification.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose code runs in an instance.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// That of the platform's catalogue.
    #[default]
    Platform,
    /// A tenant's own: an image of the tenant, or programs that it runs in an image of the catalogue.
    Tenant,
}

impl Trust {
    /// Returns whether it is code of the platform.
    #[must_use]
    pub fn is_platform(&self) -> bool {
        *self == Self::Platform
    }
}

/// Transport protocol of a port.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

impl Protocol {
    /// Returns the protocol as Kubernetes spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// State of a unit.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum UnitState {
    /// Idle. The condition `Held` says whether it holds its resources.
    #[default]
    Init,
    /// Its instance is starting; the readiness probe has not passed yet.
    Ready,
    /// The readiness probe passes.
    Running,
}

impl UnitState {
    /// Returns the wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Ready => "ready",
            Self::Running => "running",
        }
    }
}

/// Actual instance of a unit.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Name of the instance.
    pub id: String,
    /// Current attempt.
    pub attempt: i64,
    /// `spec.instance.restart` that the current pod fulfils.
    #[serde(default)]
    pub restart: i64,
    /// Namespace of the pod: the tenant's, or the unit's if its devices are claimed.
    pub namespace: String,
    /// Name of the pod; empty before there is one.
    pub pod_name: String,
    /// IP address of the pod, set when it is first ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_ip: Option<String>,
    /// Start of this attempt (whole seconds).
    pub started_at: Time,
    /// Time since which the probe has passed without interruption (whole seconds); absent while it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_since: Option<Time>,
    /// Number of restarts of the container or pod in this attempt.
    #[serde(default)]
    pub restarts: i64,
    /// When pulling the image first failed in this pod (whole seconds); absent if it has not. The cluster tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_failed_at: Option<Time>,
}

/// An interval of confirmed running that has ended. Billed seconds are `endedAt - runningSince`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Name of the instance.
    pub instance_id: String,
    /// Attempt that the run belongs to.
    pub attempt: i64,
    /// Start: when the probe first passed (whole seconds).
    pub running_since: Time,
    /// End (whole seconds), never before `runningSince`.
    pub ended_at: Time,
    /// Nobody observed the end: `endedAt` is when it was noticed, and the run ended then at the latest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unseen: bool,
    /// Machine-readable reason of the end, for example `Stopped`.
    pub reason: String,
}

/// A start that failed.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct LastFailure {
    /// Name of the instance.
    pub instance_id: String,
    /// Attempt that failed; it is not retried.
    pub attempt: i64,
    /// Machine-readable reason, for example `ImagePullFailed`.
    pub reason: String,
    /// Explanation for people, with the messages of the cluster.
    pub message: String,
    /// Last lines of the container's log; empty if it never ran.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log_tail: String,
    /// When the operator observed the failure (whole seconds).
    pub at: Time,
}
