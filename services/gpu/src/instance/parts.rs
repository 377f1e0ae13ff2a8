//! What an instance is made of: the order, the claim, the pod, failures, the meter. Values only.

use api::ProblemDetails;
use clients::stock;
use ids::{DatacenterId, GpuSpecId, ImageId, StorageId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::catalogue::{EnvVar, Template};

/// What a user ordered, as it was when it was ordered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The GPU specification.
    pub gpu_spec_id: GpuSpecId,
    /// Its name.
    pub gpu_spec_name: String,
    /// Service of the catalogue.
    pub service: String,
    /// Its version.
    pub version: String,
    /// The catalogue's entry.
    pub image_id: ImageId,
    /// How it is run.
    pub template: Template,
    /// What the user adds to the environment.
    pub env: Vec<EnvVar>,
    /// The storage to mount.
    pub storage_id: Option<StorageId>,
    /// Only in this datacenter.
    pub datacenter_id: Option<DatacenterId>,
    /// Price when it was ordered; each claim fixes its own.
    pub price_per_hour: Decimal,
    /// Of that price.
    pub currency: String,
}

/// A unit that the instance holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The unit.
    pub unit_id: UnitId,
    /// Its `GpuUnit`.
    pub unit_name: String,
    /// Where it is.
    pub place: Place,
    /// The configured name of its cluster.
    pub cluster: String,
    /// What an hour costs from this claim on.
    pub price_per_hour: Decimal,
    /// Of that price.
    pub currency: String,
    /// When it was claimed, as the stock service says. Claims that were written down before this was have none.
    #[serde(default)]
    pub claimed_at: Option<Timestamp>,
}

impl From<stock::Claim> for Claim {
    fn from(claim: stock::Claim) -> Self {
        Self {
            unit_id: claim.unit_id,
            unit_name: claim.unit_name,
            place: Place {
                datacenter_id: claim.datacenter_id,
                datacenter_name: claim.datacenter_name,
                node: claim.node,
            },
            cluster: claim.cluster,
            price_per_hour: claim.price_per_hour,
            currency: claim.currency,
            claimed_at: Some(claim.claimed_at),
        }
    }
}

/// Where an instance is or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The datacenter.
    pub datacenter_id: DatacenterId,
    /// Its name.
    pub datacenter_name: String,
    /// The node, where it is known.
    pub node: Option<String>,
}

/// The storage as the cluster knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The `GpuStorage`.
    pub object_name: String,
    /// The configured name of the cluster that has it.
    pub cluster: Option<String>,
}

/// A running instance's pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// Its address.
    pub ip: String,
    /// Its node.
    pub node: Option<String>,
    /// Since when it has been ready, in whole seconds.
    pub since: Timestamp,
}

/// Why an instance is not where it should be: a documented code, and a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Code (`snake_case`).
    pub reason: String,
    /// Sentence.
    pub message: String,
}

impl Why {
    /// Of a code and a sentence.
    pub fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into() }
    }
}

/// Why an instance stopped without being asked to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// In short.
    #[serde(flatten)]
    pub why: Why,
    /// The last lines of its log, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_tail: Option<String>,
    /// The operation's problem, where another service gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<ProblemDetails>>,
}

/// One interval of confirmed running, by the cluster's evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The attempt it belongs to.
    pub attempt: i64,
    /// When it began, in whole seconds.
    pub since: Timestamp,
}

/// An interval of confirmed running that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    /// Which.
    pub key: RunKey,
    /// When it ended, in whole seconds.
    pub ended_at: Timestamp,
    /// Why.
    pub reason: String,
}

/// How far the meter has followed the cluster's evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// The run that goes on.
    pub open: Option<RunKey>,
    /// The newest run whose end is recorded, with that end.
    pub closed: Option<(RunKey, Timestamp)>,
}

impl Meter {
    /// Whether a run's end is recorded. A run that began again within its second has the same key as the
    /// one before it: while it is open, that key's end is news.
    #[must_use]
    pub fn knows(&self, run: &EndedRun) -> bool {
        self.open != Some(run.key) && self.closed.is_some_and(|closed| (run.key, run.ended_at) <= closed)
    }
}

/// What is written into the meter's table along with a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metering {
    /// A run has begun.
    Open(RunKey),
    /// A run has ended; also for one whose beginning was not seen.
    Close(EndedRun),
    /// A run has ended without evidence of when: at the last time it was confirmed.
    CloseUnseen(RunKey),
}
