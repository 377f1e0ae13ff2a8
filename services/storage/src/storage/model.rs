//! What a storage is, which changes of it are allowed, and what the pieces of the world say about it.

use api::{Problem, ProblemType};
use ids::{InstanceId, OperationId, StorageId, StorageSpecId, TenantId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    attachment::AttachmentRef,
    storage_spec::{AccessMode, Kind, SpecState, StorageSpec},
};

/// Why a storage is not as it should be: the service's own words. A volume's reasons can also be those of
/// the `Bound` condition of its `GpuStorage`.
pub(crate) mod reason {
    /// The cluster was asked for the volume and has not answered yet.
    pub(crate) const VOLUME_REQUESTED: &str = "VolumeRequested";
    /// The cluster is making the volume.
    pub(crate) const VOLUME_PENDING: &str = "VolumePending";
    /// The cluster is growing the volume.
    pub(crate) const VOLUME_GROWING: &str = "VolumeGrowing";
    /// The cluster could not make the volume, or has lost it.
    pub(crate) const VOLUME_FAILED: &str = "VolumeFailed";
    /// The volume was there and is gone, by no act of this service.
    pub(crate) const VOLUME_LOST: &str = "VolumeLost";
    /// The cluster is removing the volume.
    pub(crate) const VOLUME_REMOVING: &str = "VolumeRemoving";
    /// The cluster does not answer; it is asked again.
    pub(crate) const CLUSTER_UNAVAILABLE: &str = "ClusterUnavailable";
    /// The cluster refuses the volume as it was ordered.
    pub(crate) const CLUSTER_REFUSED: &str = "ClusterRefused";
    /// The bucket's objects are being removed.
    pub(crate) const BUCKET_EMPTYING: &str = "BucketEmptying";
    /// The bucket was there and is gone, by no act of this service.
    pub(crate) const BUCKET_LOST: &str = "BucketLost";
    /// A bucket of this name belongs to somebody else.
    pub(crate) const BUCKET_NAME_TAKEN: &str = "BucketNameTaken";
    /// The object store does not answer; it is asked again.
    pub(crate) const OBJECT_STORE_UNAVAILABLE: &str = "ObjectStoreUnavailable";
    /// The object store refuses.
    pub(crate) const OBJECT_STORE_REFUSED: &str = "ObjectStoreRefused";
}

/// A reason with a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    /// One of [`reason`], or the cluster's.
    pub(crate) reason: String,
    /// What it means here.
    pub(crate) message: String,
}

impl Why {
    pub(crate) fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into() }
    }
}

/// Where a storage stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Being made.
    Pending(Option<Why>),
    /// It can be used.
    Available,
    /// It can be used while it grows.
    Resizing(Option<Why>),
    /// It could not be made, or is lost.
    Failed(Why),
    /// Being removed with all that is in it.
    Deleting(Option<Why>),
}

/// [`Phase`] without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum StorageState {
    /// Being made.
    Pending,
    /// It can be used.
    Available,
    /// It can be used while it grows.
    Resizing,
    /// It could not be made, or is lost.
    Failed,
    /// Being removed with all that is in it.
    Deleting,
}

impl StorageState {
    /// As it stands on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Available => "available",
            Self::Resizing => "resizing",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
        }
    }
}

impl Phase {
    /// The phase of a stored state; a failure without a reason is none.
    pub(crate) fn from_parts(state: StorageState, why: Option<Why>) -> Option<Self> {
        Some(match state {
            StorageState::Pending => Self::Pending(why),
            StorageState::Available => Self::Available,
            StorageState::Resizing => Self::Resizing(why),
            StorageState::Failed => Self::Failed(why?),
            StorageState::Deleting => Self::Deleting(why),
        })
    }

    pub(crate) fn state(&self) -> StorageState {
        match self {
            Self::Pending(_) => StorageState::Pending,
            Self::Available => StorageState::Available,
            Self::Resizing(_) => StorageState::Resizing,
            Self::Failed(_) => StorageState::Failed,
            Self::Deleting(_) => StorageState::Deleting,
        }
    }

    pub(crate) fn why(&self) -> Option<&Why> {
        match self {
            Self::Pending(why) | Self::Resizing(why) | Self::Deleting(why) => why.as_ref(),
            Self::Failed(why) => Some(why),
            Self::Available => None,
        }
    }

    /// The same phase, hindered by `why`.
    pub(crate) fn hindered(&self, why: Why) -> Self {
        match self {
            Self::Pending(_) => Self::Pending(Some(why)),
            Self::Resizing(_) => Self::Resizing(Some(why)),
            Self::Deleting(_) => Self::Deleting(Some(why)),
            // what worked is not doubted, and what failed is not explained, by not getting an answer
            Self::Available | Self::Failed(_) => self.clone(),
        }
    }
}

/// A storage.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    pub(crate) id: StorageId,
    pub(crate) tenant: TenantId,
    pub(crate) name: String,
    pub(crate) spec_id: StorageSpecId,
    pub(crate) spec_name: String,
    pub(crate) kind: Kind,
    pub(crate) size_gib: i64,
    pub(crate) cluster: Option<String>,
    pub(crate) datacenter: Option<String>,
    pub(crate) storage_class: Option<String>,
    pub(crate) access_mode: AccessMode,
    pub(crate) price_per_gib_month: Decimal,
    pub(crate) currency: String,
    pub(crate) phase: Phase,
    pub(crate) capacity_gib: Option<i64>,
    pub(crate) operation_id: OperationId,
    pub(crate) generation: i64,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl Storage {
    /// Name of the `GpuStorage`, or of the bucket.
    pub(crate) fn object_name(&self) -> String {
        self.id.k8s_name()
    }

    /// Whether it is there in full.
    pub(crate) fn usable(&self) -> bool {
        matches!(self.phase, Phase::Available | Phase::Resizing(_))
    }

    /// Whether an instance may have it. A volume that the cluster has accepted may be one that is only made
    /// when its first instance comes (`WaitForFirstConsumer`).
    pub(crate) fn attachable(&self) -> bool {
        let accepted = |why: &Why| why.reason == crds::StorageReason::Pending.as_str();
        self.usable() || matches!(&self.phase, Phase::Pending(Some(why)) if accepted(why))
    }

    /// Whether it may grow to `size_gib` now.
    ///
    /// # Errors
    /// 409 when it is busy, 422 when the size is none it can have.
    pub(crate) fn check_growth(&self, size_gib: i64, spec: &StorageSpec) -> Result<(), Problem> {
        if !self.usable() {
            return Err(Problem::new(
                ProblemType::StorageNotAvailable,
                format!("The storage is {}.", self.phase.state().as_str()),
            ));
        }
        if size_gib < self.size_gib {
            return Err(Problem::invalid_field(
                "/size_gib",
                format!("must not be smaller than the present size, {}: a storage only grows", self.size_gib),
            ));
        }
        if size_gib > spec.max_size_gib {
            return Err(Problem::invalid_field(
                "/size_gib",
                format!("must not be larger than {}, the largest of {}", spec.max_size_gib, spec.name),
            ));
        }
        Ok(())
    }
}

/// A storage to be made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewStorage {
    /// 1 to 100 characters, unique in the tenant without regard to case.
    pub(crate) name: String,
    /// The storage specification: its id or its name.
    pub(crate) storage_spec: String,
    /// In GiB, within the specification's sizes; may be left out where the size is fixed.
    #[serde(default)]
    pub(crate) size_gib: Option<i64>,
    /// Where a volume is made; may be left out where there is only one place.
    #[serde(default)]
    pub(crate) datacenter: Option<String>,
}

impl NewStorage {
    /// The size asked for.
    ///
    /// # Errors
    /// 409 when the specification is retired, 422 when the size is none of it.
    pub(crate) fn size(&self, spec: &StorageSpec) -> Result<i64, Problem> {
        if spec.state == SpecState::Retired {
            return Err(Problem::new(
                ProblemType::StorageSpecRetired,
                format!("No new storages of {} can be made.", spec.name),
            ));
        }
        let (min, max) = (spec.min_size_gib, spec.max_size_gib);
        match self.size_gib {
            None if min == max => Ok(min),
            Some(size) if (min..=max).contains(&size) => Ok(size),
            _ => Err(Problem::invalid_field(
                "/size_gib",
                format!("must be between {min} and {max}, the sizes of {}", spec.name),
            )),
        }
    }
}

/// What changes of a storage; what is absent stays.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StorageChange {
    /// A new name.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// A new size in GiB: it only grows.
    #[serde(default)]
    pub(crate) size_gib: Option<i64>,
}

/// A name that a person can read.
///
/// # Errors
/// 422 naming the field.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    let chars = name.chars().count();
    if (1..=100).contains(&chars) && name.trim() == name && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::invalid_field(
        "/name",
        "must have 1 to 100 characters, no control characters, and no space at either end",
    ))
}

/// A storage specification in passing.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct StorageSpecRef {
    /// Its id.
    pub(crate) id: StorageSpecId,
    /// Its name.
    pub(crate) name: String,
}

/// Where a bucket is for S3 clients (path style). Keys: POST …/credentials.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct BucketAddress {
    /// Its name.
    pub(crate) name: String,
    /// `http(s)://host:port`.
    pub(crate) endpoint: String,
    /// What to sign with.
    pub(crate) region: String,
}

/// A storage as callers see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Storage)]
pub(crate) struct StorageView {
    /// Its id.
    pub(crate) id: StorageId,
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: Kind,
    /// What it was ordered as.
    pub(crate) storage_spec: StorageSpecRef,
    /// The size asked for, in GiB.
    pub(crate) size_gib: i64,
    /// The size it has, in GiB, once known (volumes).
    pub(crate) capacity_gib: Option<i64>,
    /// Where it stands.
    pub(crate) state: StorageState,
    /// Why it is not available, in a word.
    pub(crate) reason: Option<String>,
    /// The same in a sentence.
    pub(crate) message: Option<String>,
    /// Where the volume is.
    pub(crate) datacenter: Option<String>,
    /// Where the bucket is.
    pub(crate) bucket: Option<BucketAddress>,
    /// Instances it is kept for: while there are any it cannot be deleted.
    pub(crate) attachments: Vec<AttachmentRef>,
    /// The latest long action on it.
    pub(crate) operation_id: OperationId,
    /// Price of a GiB for a month, as when it was made.
    #[schema(value_type = String, example = "0.05")]
    pub(crate) price_per_gib_month: Decimal,
    /// ISO 4217.
    pub(crate) currency: String,
    /// When it was ordered.
    pub(crate) created_at: Timestamp,
    /// When it last changed.
    pub(crate) updated_at: Timestamp,
}

/// The refusal to delete a storage that instances hold.
pub(crate) fn in_use(holders: &[InstanceId]) -> Problem {
    Problem::new(ProblemType::StorageInUse, format!("{} instance(s) use it.", holders.len()))
        .with("instance_ids", holders)
}
