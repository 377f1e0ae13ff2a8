//! Storages, and their allowed changes.

use ids::{InstanceId, OperationId, StorageId, StorageSpecId, TenantId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use storage_api::{StorageKind, StorageState};

use super::{
    error::Error,
    place::Place,
    reason::{Reason, ReasonCode},
};
use crate::storage_spec::{AccessMode, StorageSpec};

/// The state of a storage, with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Being created.
    Pending(Option<Reason>),
    /// Ready for use.
    Available,
    /// Growing; in use meanwhile.
    Resizing(Option<Reason>),
    /// Not created, or lost.
    Failed(Reason),
    /// Being deleted with its data.
    Deleting(Option<Reason>),
}

impl Phase {
    /// The phase of a stored state; none for a failure without a reason.
    pub(crate) fn from_parts(state: StorageState, reason: Option<Reason>) -> Option<Self> {
        Some(match state {
            StorageState::Pending => Self::Pending(reason),
            StorageState::Available => Self::Available,
            StorageState::Resizing => Self::Resizing(reason),
            StorageState::Failed => Self::Failed(reason?),
            StorageState::Deleting => Self::Deleting(reason),
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

    pub(crate) fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Pending(reason) | Self::Resizing(reason) | Self::Deleting(reason) => reason.as_ref(),
            Self::Failed(reason) => Some(reason),
            Self::Available => None,
        }
    }

    /// The same phase, which waits for this reason. A storage that was available or failed stays as it is: a
    /// cluster or object store that does not respond says nothing about it.
    pub(crate) fn waiting(&self, reason: Reason) -> Self {
        match self {
            Self::Pending(_) => Self::Pending(Some(reason)),
            Self::Resizing(_) => Self::Resizing(Some(reason)),
            Self::Deleting(_) => Self::Deleting(Some(reason)),
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
    pub(crate) kind: StorageKind,
    pub(crate) size_gib: i64,
    /// Where a volume is; none for a bucket.
    pub(crate) place: Option<Place>,
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

    pub(crate) fn is_deleting(&self) -> bool {
        matches!(self.phase, Phase::Deleting(_))
    }

    fn is_usable(&self) -> bool {
        matches!(self.phase, Phase::Available | Phase::Resizing(_))
    }

    fn not_available(&self) -> Error {
        Error::NotAvailable(self.phase.state().as_str())
    }

    /// Checks that the storage can be used.
    ///
    /// # Errors
    /// If it is not available.
    pub(crate) fn check_usable(&self) -> Result<(), Error> {
        if self.is_usable() { Ok(()) } else { Err(self.not_available()) }
    }

    /// Checks that an instance can attach the storage. A volume that the cluster has accepted may wait for its
    /// first instance to be provisioned (`WaitForFirstConsumer`), and can be attached.
    ///
    /// # Errors
    /// If it is not available.
    pub(crate) fn check_attachable(&self) -> Result<(), Error> {
        let accepted = |reason: &Reason| reason.code == ReasonCode::VolumeAccepted;
        match &self.phase {
            Phase::Pending(Some(reason)) if accepted(reason) => Ok(()),
            _ => self.check_usable(),
        }
    }

    /// Checks that the storage has objects and credentials.
    ///
    /// # Errors
    /// If it is a volume.
    pub(crate) fn check_bucket(&self) -> Result<(), Error> {
        if self.kind == StorageKind::Bucket { Ok(()) } else { Err(Error::NotABucket) }
    }

    /// Checks that the storage can be changed.
    ///
    /// # Errors
    /// If it is being deleted.
    pub(crate) fn check_changeable(&self) -> Result<(), Error> {
        if self.is_deleting() { Err(Error::Deleting) } else { Ok(()) }
    }

    /// Checks that the storage can grow to `size_gib`.
    ///
    /// # Errors
    /// If it is not available, or the size is not valid.
    pub(crate) fn check_growth(&self, size_gib: i64, spec: &StorageSpec) -> Result<(), Error> {
        self.check_usable()?;
        if size_gib < self.size_gib {
            return Err(Error::invalid_field(
                "/size_gib",
                format!("must be at least the current size, {}: a storage cannot shrink", self.size_gib),
            ));
        }
        if size_gib > spec.max_size_gib {
            return Err(Error::invalid_field(
                "/size_gib",
                format!("must be at most {}, the largest size of {}", spec.max_size_gib, spec.name),
            ));
        }
        Ok(())
    }

    /// Checks that the storage, which `instances` use, can be deleted.
    ///
    /// # Errors
    /// If instances use it.
    pub(crate) fn check_unused(instances: Vec<InstanceId>) -> Result<(), Error> {
        if instances.is_empty() { Ok(()) } else { Err(Error::InUse(instances)) }
    }
}

/// Chooses the size of a new storage.
///
/// # Errors
/// If the specification does not have the size.
pub(crate) fn size(requested: Option<i64>, spec: &StorageSpec) -> Result<i64, Error> {
    let (min, max) = (spec.min_size_gib, spec.max_size_gib);
    match requested {
        None if min == max => Ok(min),
        Some(size) if (min..=max).contains(&size) => Ok(size),
        _ => Err(Error::invalid_field(
            "/size_gib",
            format!("must be between {min} and {max}, the sizes of {}", spec.name),
        )),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::storage_spec::SpecState;

    /// A volume of 20 GiB in this phase.
    pub(crate) fn volume(phase: Phase) -> Storage {
        Storage {
            id: StorageId::new(),
            tenant: TenantId::new(),
            name: "models".into(),
            spec_id: StorageSpecId::new(),
            spec_name: "ssd".into(),
            kind: StorageKind::Volume,
            size_gib: 20,
            place: Some(Place { datacenter: "uk-1".into(), cluster: "uk-1".into() }),
            storage_class: None,
            access_mode: AccessMode::default(),
            price_per_gib_month: Decimal::ONE,
            currency: "USD".into(),
            phase,
            capacity_gib: None,
            operation_id: OperationId::new(),
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn spec(min: i64, max: i64) -> StorageSpec {
        StorageSpec {
            id: StorageSpecId::new(),
            name: "ssd".into(),
            kind: StorageKind::Volume,
            min_size_gib: min,
            max_size_gib: max,
            price_per_gib_month: Decimal::ONE,
            currency: "USD".into(),
            storage_class: None,
            access_mode: AccessMode::default(),
            state: SpecState::Active,
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn reason(code: ReasonCode) -> Reason {
        Reason::new(code, "because")
    }

    fn phases() -> [Phase; 5] {
        let some = || Some(reason(ReasonCode::ClusterUnavailable));
        [
            Phase::Pending(some()),
            Phase::Available,
            Phase::Resizing(some()),
            Phase::Failed(reason(ReasonCode::VolumeLost)),
            Phase::Deleting(some()),
        ]
    }

    #[test]
    fn a_phase_is_its_state_and_reason() {
        for phase in phases() {
            assert_eq!(Phase::from_parts(phase.state(), phase.reason().cloned()), Some(phase));
        }
        assert_eq!(Phase::from_parts(StorageState::Failed, None), None);
        for state in phases().map(|phase| phase.state()) {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }

    #[test]
    fn only_unfinished_work_waits_for_a_reason() {
        let new = reason(ReasonCode::ObjectStoreUnavailable);
        for phase in phases() {
            let waiting = phase.waiting(new.clone());
            assert_eq!(waiting.state(), phase.state());
            match phase {
                Phase::Available | Phase::Failed(_) => assert_eq!(waiting, phase),
                _ => assert_eq!(waiting.reason(), Some(&new)),
            }
        }
    }

    #[test]
    fn an_available_or_growing_storage_can_be_used() {
        let usable = phases().map(|phase| volume(phase).check_usable().is_ok());
        assert_eq!(usable, [false, true, true, false, false]);
        let changeable = phases().map(|phase| volume(phase).check_changeable().is_ok());
        assert_eq!(changeable, [true, true, true, true, false]);
        let attachable = phases().map(|phase| volume(phase).check_attachable().is_ok());
        assert_eq!(attachable, [false, true, true, false, false]);
        let accepted = |phase: fn(Option<Reason>) -> Phase| {
            volume(phase(Some(reason(ReasonCode::VolumeAccepted)))).check_attachable().is_ok()
        };
        assert!(accepted(Phase::Pending) && !accepted(Phase::Deleting));
        assert!(volume(Phase::Pending(None)).check_attachable().is_err());
    }

    #[test]
    fn a_storage_grows_within_its_specification() {
        let grows = |size| volume(Phase::Available).check_growth(size, &spec(1, 30)).is_ok();
        assert_eq!([19, 20, 30, 31].map(grows), [false, true, true, false]);
        let busy = volume(Phase::Pending(None)).check_growth(25, &spec(1, 30));
        assert!(matches!(busy, Err(Error::NotAvailable("pending"))));
    }

    #[test]
    fn a_storage_in_use_is_not_deleted() {
        Storage::check_unused(Vec::new()).unwrap();
        let instance = InstanceId::new();
        let refused = Storage::check_unused(vec![instance]);
        assert!(matches!(refused, Err(Error::InUse(instances)) if instances == [instance]));
    }

    #[test]
    fn a_new_storage_has_a_size_of_its_specification() {
        let chosen = |requested, min, max| size(requested, &spec(min, max)).ok();
        assert_eq!(chosen(None, 5, 5), Some(5));
        assert_eq!(chosen(None, 5, 6), None);
        assert_eq!([4, 5, 6, 7].map(|size| chosen(Some(size), 5, 6)), [None, Some(5), Some(6), None]);
    }
}
