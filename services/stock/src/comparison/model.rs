//! How units and objects differ. Pure functions.

use std::collections::{HashMap, HashSet};

use crds::GpuUnit;
use ids::{GpuSpecId, UnitId};
use kube::ResourceExt;

use crate::unit::{
    UnitState,
    object::{self, Observation},
};

/// A unit, as a comparison reads it.
#[derive(Debug, Clone)]
pub(crate) struct KnownUnit {
    pub(crate) id: UnitId,
    pub(crate) state: UnitState,
    pub(crate) gpu_spec_id: GpuSpecId,
    pub(crate) datacenter: String,
    pub(crate) object_uid: Option<String>,
    /// No reconcile is due or in progress.
    pub(crate) idle: bool,
}

impl KnownUnit {
    /// A unit that is being reconciled or removed may differ from its object.
    fn must_match(&self) -> bool {
        self.idle && self.state != UnitState::Removing
    }
}

/// An object, as a comparison keeps it.
#[derive(Debug, Clone)]
pub(super) struct FoundObject {
    pub(super) name: String,
    pub(super) unit: Option<UnitId>,
    pub(super) uid: Option<String>,
    pub(super) version: Option<String>,
    pub(super) occupied: bool,
    pub(super) terminating: bool,
    pub(super) altered: bool,
    pub(super) gpu_spec: String,
    pub(super) datacenter: String,
    pub(super) observation: Option<Observation>,
}

impl FoundObject {
    /// Reads an object and compares it with the desired one of its unit.
    pub(super) fn read(found: &GpuUnit, desired: &impl Fn(UnitId) -> Option<GpuUnit>) -> Self {
        let name = found.name_any();
        let unit = UnitId::from_k8s_name(&name).ok();
        Self {
            unit,
            uid: found.uid(),
            version: found.resource_version(),
            occupied: object::is_occupied(found),
            terminating: found.metadata.deletion_timestamp.is_some(),
            altered: unit.and_then(desired).is_some_and(|desired| object::altered(found, &desired)),
            gpu_spec: found.spec.gpu_spec.clone(),
            datacenter: found.spec.datacenter.clone(),
            observation: object::observe(found),
            name,
        }
    }
}

/// How units and objects differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// Units without an object.
    pub(super) missing: Vec<UnitId>,
    /// Units whose object is not as desired.
    pub(super) altered: Vec<UnitId>,
    /// Indexes of objects without a unit.
    pub(super) unknown: Vec<usize>,
}

pub(super) fn differences(known: &[KnownUnit], objects: &[FoundObject]) -> Differences {
    let present: HashSet<UnitId> = objects.iter().filter_map(|found| found.unit).collect();
    let units: HashMap<UnitId, &KnownUnit> = known.iter().map(|unit| (unit.id, unit)).collect();
    Differences {
        missing: known
            .iter()
            .filter(|unit| unit.must_match() && !present.contains(&unit.id))
            .map(|unit| unit.id)
            .collect(),
        altered: objects
            .iter()
            .filter(|found| found.altered && !found.terminating)
            .filter_map(|found| found.unit)
            .filter(|id| units.get(id).is_some_and(|unit| unit.must_match()))
            .collect(),
        unknown: objects
            .iter()
            .enumerate()
            .filter(|(_, found)| !found.terminating && found.unit.is_none_or(|id| !units.contains_key(&id)))
            .map(|(index, _)| index)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(unit: Option<UnitId>, altered: bool, terminating: bool) -> FoundObject {
        FoundObject {
            name: unit.map_or_else(|| "stray".to_owned(), UnitId::k8s_name),
            unit,
            uid: None,
            version: None,
            occupied: false,
            terminating,
            altered,
            gpu_spec: String::new(),
            datacenter: String::new(),
            observation: None,
        }
    }

    proptest! {
        /// Every unit and every object is accounted for exactly once, and no unit in work is touched.
        #[test]
        fn each_difference_is_found_once(
            cases in prop::collection::vec((any::<[bool; 6]>(), 0u8..5), 0..40)
        ) {
            let (mut known, mut objects, mut expected) = (vec![], vec![], Differences::default());
            for ([has_row, has_object, idle, altered, terminating, named], state) in cases {
                let state = [UnitState::Making, UnitState::Available, UnitState::Inactive, UnitState::Used,
                    UnitState::Removing][usize::from(state)];
                let id = UnitId::new();
                let named = named || has_row;
                if has_row {
                    known.push(KnownUnit { id, state, gpu_spec_id: GpuSpecId::new(), datacenter: String::new(),
                        object_uid: None, idle });
                }
                if has_object {
                    objects.push(found(named.then_some(id), altered && has_row, terminating));
                }
                let must_match = idle && state != UnitState::Removing;
                match (has_row, has_object) {
                    (true, false) if must_match => expected.missing.push(id),
                    (true, true) if must_match && altered && !terminating => expected.altered.push(id),
                    (false, true) if !terminating => expected.unknown.push(objects.len() - 1),
                    _ => {}
                }
            }
            prop_assert_eq!(differences(&known, &objects), expected);
        }
    }
}
