//! Units of stock and their states.

use ids::{InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::reason::UnitReason;
use stock_api::{DatacenterRef, GpuSpecRef};

/// State of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum UnitState {
    /// Its object is being created, or the scheduler has not yet found a place.
    Making,
    /// It holds its resources and can be claimed.
    Available,
    /// It cannot be claimed; `reason` says why.
    Inactive,
    /// An instance has claimed it.
    Used,
    /// Its object is being deleted.
    Removing,
}

/// What the cluster reports about a unit's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitStatus {
    /// They are reserved.
    pub held: bool,
    /// An instance occupies the unit.
    pub occupied: bool,
    /// The scheduler has not tried the unit yet.
    pub undecided: bool,
}

impl UnitState {
    /// Returns the state after a report of the cluster. [`super::cluster_store::record_observations`] has the same
    /// rules in SQL.
    #[must_use]
    pub fn observed(self, status: UnitStatus) -> Self {
        match self {
            Self::Used | Self::Removing => self,
            Self::Making if !status.held && status.undecided => Self::Making,
            Self::Making | Self::Available | Self::Inactive => {
                if status.held && !status.occupied {
                    Self::Available
                } else {
                    Self::Inactive
                }
            }
        }
    }

    /// Returns the state after a release.
    #[must_use]
    pub fn released(self, held: bool) -> Self {
        match self {
            Self::Used if held => Self::Available,
            Self::Used => Self::Inactive,
            other => other,
        }
    }

    /// Whether an instance may claim the unit.
    #[must_use]
    pub fn can_be_claimed(self) -> bool {
        self == Self::Available
    }

    /// Whether the unit may be removed from stock.
    #[must_use]
    pub fn can_be_removed(self) -> bool {
        matches!(self, Self::Making | Self::Inactive | Self::Available)
    }
}

/// The instance that holds a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Holder {
    /// Instance id.
    pub instance_id: InstanceId,
    /// Tenant of the instance.
    pub tenant_id: TenantId,
    /// Time of the claim.
    pub since: Timestamp,
}

/// An instance that held a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PastHolder {
    /// Instance id.
    pub instance_id: InstanceId,
    /// Tenant of the instance.
    pub tenant_id: TenantId,
    /// Time of the claim.
    pub claimed_at: Timestamp,
    /// Time of the release.
    pub released_at: Timestamp,
}

/// A unit of stock: one slot of a specification in a datacenter.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockUnit {
    /// Unit id.
    pub id: UnitId,
    /// Name of its `GpuUnit` in the cluster.
    pub name: String,
    /// Specification of the unit.
    pub gpu_spec: GpuSpecRef,
    /// Datacenter of the unit.
    pub datacenter: DatacenterRef,
    /// State of the unit.
    pub state: UnitState,
    /// Machine-readable reason why the unit does not hold its resources or has no object, or null.
    pub reason: Option<UnitReason>,
    /// The reason in a sentence for a person, or null.
    pub message: Option<String>,
    /// Node on which it holds its resources, or null.
    pub node: Option<String>,
    /// UUIDs of its GPUs, where the cluster reports them.
    pub gpu_uuids: Vec<String>,
    /// Time of the last change of state.
    pub since: Timestamp,
    /// Time of the addition to stock.
    pub created_at: Timestamp,
    /// The instance that holds the unit, or null.
    pub holder: Option<Holder>,
}

/// A unit with its previous holders.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockUnitDetail {
    /// The unit.
    #[serde(flatten)]
    pub unit: StockUnit,
    /// Previous holders, newest first, at most 100.
    pub history: Vec<PastHolder>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Event {
        Observed(UnitStatus),
        Claim,
        Release,
        Remove,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(held, occupied, undecided)| {
                Event::Observed(UnitStatus { held, occupied, undecided })
            }),
            Just(Event::Claim),
            Just(Event::Release),
            Just(Event::Remove),
        ]
    }

    proptest! {
        /// In any order of events: a used unit stays used until its release, a unit that is being removed never
        /// returns, and an available unit is held.
        #[test]
        fn a_unit_has_one_holder_and_is_never_lost(events in prop::collection::vec(event(), 0..60)) {
            let (mut state, mut last, mut holders) = (UnitState::Making, None::<UnitStatus>, 0);
            for event in events {
                let before = state;
                match event {
                    Event::Observed(status) => {
                        last = Some(status);
                        state = state.observed(status);
                    }
                    Event::Claim if state.can_be_claimed() => {
                        holders += 1;
                        state = UnitState::Used;
                    }
                    Event::Release => {
                        if state == UnitState::Used {
                            holders -= 1;
                        }
                        state = state.released(last.is_some_and(|status| status.held));
                    }
                    Event::Remove if state.can_be_removed() => state = UnitState::Removing,
                    Event::Claim | Event::Remove => {}
                }
                prop_assert_eq!(holders, i32::from(state == UnitState::Used));
                prop_assert!(before != UnitState::Removing || state == UnitState::Removing);
                prop_assert!(state != UnitState::Making || before == UnitState::Making);
                if state == UnitState::Available {
                    prop_assert!(last.is_some_and(|status| status.held));
                }
                if before == UnitState::Used && !matches!(event, Event::Release) {
                    prop_assert_eq!(state, UnitState::Used);
                }
            }
        }
    }

    #[test]
    fn a_report_decides_the_state_of_an_idle_unit() {
        use UnitState::{Available, Inactive, Making, Removing, Used};
        for (before, held, occupied, undecided, after) in [
            (Making, false, false, true, Making),
            (Making, false, true, true, Making),
            (Making, false, false, false, Inactive),
            (Making, true, false, true, Available),
            (Making, true, false, false, Available),
            (Making, true, true, false, Inactive),
            (Available, false, false, true, Inactive),
            (Available, true, true, false, Inactive),
            (Inactive, true, false, false, Available),
            (Inactive, false, false, false, Inactive),
            (Used, false, false, false, Used),
            (Used, true, false, false, Used),
            (Removing, true, false, false, Removing),
        ] {
            let status = UnitStatus { held, occupied, undecided };
            assert_eq!(before.observed(status), after, "{before:?} {status:?}");
        }
    }

    #[test]
    fn only_a_used_unit_is_released() {
        use UnitState::{Available, Inactive, Making, Removing, Used};
        assert_eq!((Used.released(true), Used.released(false)), (Available, Inactive));
        for state in [Making, Available, Inactive, Removing] {
            assert_eq!((state.released(true), state.released(false)), (state, state));
            assert_eq!(state.can_be_claimed(), state == Available);
        }
        assert!(!Used.can_be_claimed() && !Used.can_be_removed() && !Removing.can_be_removed());
        assert!(Making.can_be_removed() && Inactive.can_be_removed() && Available.can_be_removed());
    }
}
