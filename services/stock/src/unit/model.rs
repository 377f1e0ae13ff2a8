//! What a unit of stock is, and what may become of it.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{datacenter::model::DatacenterState, spec::model::GpuSpec};

/// The most units one addition or removal may be about.
pub(crate) const MOST_UNITS: i64 = 10_000;

/// Where a unit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum UnitState {
    /// Its object is being made in the cluster, or the cluster has not judged it yet.
    Making,
    /// It holds its resources and nobody has it.
    Available,
    /// Its resources are not held; `reason` says why.
    Inactive,
    /// An instance has it.
    Used,
    /// Its object is being removed from the cluster.
    Removing,
}

/// What the cluster says of a unit's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// They are reserved.
    pub held: bool,
    /// An instance stands in the object.
    pub occupied: bool,
    /// The scheduler has not judged the unit yet.
    pub undecided: bool,
}

impl UnitState {
    /// The state after the cluster was seen so. The statement in [`super::cluster_store`] says the same in
    /// SQL.
    #[must_use]
    pub fn seen(self, sight: Sight) -> Self {
        match self {
            Self::Used | Self::Removing => self,
            Self::Making if !sight.held && sight.undecided => Self::Making,
            Self::Making | Self::Available | Self::Inactive => {
                if sight.held && !sight.occupied {
                    Self::Available
                } else {
                    Self::Inactive
                }
            }
        }
    }

    /// The state after its instance gave it back.
    #[must_use]
    pub fn released(self, held: bool) -> Self {
        match self {
            Self::Used if held => Self::Available,
            Self::Used => Self::Inactive,
            other => other,
        }
    }

    /// Whether an instance may have it now.
    #[must_use]
    pub fn can_be_claimed(self) -> bool {
        self == Self::Available
    }

    /// Whether it may be taken out of stock now.
    #[must_use]
    pub fn can_be_removed(self) -> bool {
        matches!(self, Self::Making | Self::Inactive | Self::Available)
    }
}

/// A name with its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct GpuSpecRef {
    /// The id.
    pub id: GpuSpecId,
    /// The name.
    pub name: String,
}

/// A name with its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DatacenterRef {
    /// The id.
    pub id: DatacenterId,
    /// The name.
    pub name: String,
}

/// How much stock there is of a specification in a datacenter: one line of the page of stock.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockRow {
    /// Of what.
    pub gpu_spec: GpuSpec,
    /// Where.
    pub datacenter: DatacenterRef,
    /// Whether the datacenter gives out units.
    pub datacenter_state: DatacenterState,
    /// Units that can be had now.
    pub available: i64,
    /// Units whose resources are not held at the moment.
    pub inactive: i64,
    /// Units that instances have.
    pub used: i64,
    /// The three together. Units being made or removed are not in it.
    pub total: i64,
    /// The price of an hour, decimal.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// Who has a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Holder {
    /// The instance.
    pub instance_id: InstanceId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Since when.
    pub since: Timestamp,
}

/// Who had a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PastHolder {
    /// The instance.
    pub instance_id: InstanceId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// From when.
    pub claimed_at: Timestamp,
    /// Until when.
    pub released_at: Timestamp,
}

/// A unit of stock.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockUnit {
    /// Its id.
    pub id: UnitId,
    /// The name of its `GpuUnit` in the cluster.
    pub name: String,
    /// Of what.
    pub gpu_spec: GpuSpecRef,
    /// Where.
    pub datacenter: DatacenterRef,
    /// Where it stands.
    pub state: UnitState,
    /// Why it is not held or not made, in a word. Of the cluster: `Scheduling`, `Unschedulable`, `NodeLost`,
    /// `NodeCordoned`, `Preempted`, `PlaceLost`, `UnsupportedAllocation`, `InvalidSpec`, `Deleting`. Of this
    /// service: `ClusterRefused` (it does not take the object), `ClusterUnreachable`, `ClusterUnknown` (not in
    /// the configuration), `ObjectMissing` (deleted in the cluster, being made again), `Adopted` (found in the
    /// cluster), `Occupied` (an instance stands in it that has not claimed it).
    pub reason: Option<String>,
    /// Why, in the cluster's words.
    pub message: Option<String>,
    /// The node its place is on.
    pub node: Option<String>,
    /// The UUIDs of its GPUs, where the cluster tells them.
    pub gpu_uuids: Vec<String>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// When it was added.
    pub created_at: Timestamp,
    /// Who has it.
    pub holder: Option<Holder>,
}

/// A unit's page.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockUnitPage {
    /// The unit.
    #[serde(flatten)]
    pub unit: StockUnit,
    /// Who had it before, the newest first, at most 100.
    pub history: Vec<PastHolder>,
}

/// An addition to, or removal from, the stock.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StockChange {
    /// Of what: a specification's name or id.
    #[schema(example = "3080-small-4-1")]
    pub gpu_spec: String,
    /// Where: a datacenter's name or id.
    #[schema(example = "uk-1")]
    pub datacenter: String,
    /// How many units, 1 to 10000.
    #[schema(example = 3)]
    pub count: i64,
}

/// Something that the comparison with a cluster, or of the counts, found and put right.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Repair {
    /// Its number, growing.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// In which cluster; null for the counts.
    pub cluster: Option<String>,
    /// `object_missing` (a unit without its object: made again), `object_orphaned` (an idle object without a
    /// unit: removed), `object_adopted` (an object without a unit in which an instance stands: became a
    /// unit), `object_altered` (an object that does not say what its unit says: applied again),
    /// `status_missed` (a change that no watch reported: written up), `counts` (a count that was off).
    pub kind: String,
    /// Of which unit.
    pub unit_id: Option<UnitId>,
    /// What was found, for people.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Event {
        Seen(Sight),
        Claim,
        Release,
        Remove,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (any::<bool>(), any::<bool>(), any::<bool>())
                .prop_map(|(held, occupied, undecided)| { Event::Seen(Sight { held, occupied, undecided }) }),
            Just(Event::Claim),
            Just(Event::Release),
            Just(Event::Remove),
        ]
    }

    proptest! {
        /// Whatever happens in whatever order: a unit in use stays in use until it is given back, one that is
        /// being removed never comes back, and what is available is really held.
        #[test]
        fn a_unit_is_given_once_and_never_lost(events in prop::collection::vec(event(), 0..60)) {
            let (mut state, mut last, mut holders) = (UnitState::Making, None::<Sight>, 0);
            for event in events {
                let before = state;
                match event {
                    Event::Seen(sight) => {
                        last = Some(sight);
                        state = state.seen(sight);
                    }
                    Event::Claim if state.can_be_claimed() => {
                        holders += 1;
                        state = UnitState::Used;
                    }
                    Event::Release => {
                        if state == UnitState::Used {
                            holders -= 1;
                        }
                        state = state.released(last.is_some_and(|sight| sight.held));
                    }
                    Event::Remove if state.can_be_removed() => state = UnitState::Removing,
                    Event::Claim | Event::Remove => {}
                }
                prop_assert_eq!(holders, i32::from(state == UnitState::Used));
                prop_assert!(before != UnitState::Removing || state == UnitState::Removing);
                prop_assert!(state != UnitState::Making || before == UnitState::Making);
                if state == UnitState::Available {
                    prop_assert!(last.is_some_and(|sight| sight.held));
                }
                if before == UnitState::Used && !matches!(event, Event::Release) {
                    prop_assert_eq!(state, UnitState::Used);
                }
            }
        }
    }
}
