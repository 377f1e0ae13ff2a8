//! The newest known version of each unit of a cluster.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use gpu_core::unit::Unit;
use ids::InstanceId;

#[derive(Default)]
pub(super) struct Cache {
    /// Whether all units have been listed once: a unit that is not here does not exist.
    pub(super) synced: bool,
    /// Whether the watch is connected: what is here is current.
    pub(super) connected: bool,
    pub(super) units: HashMap<String, Arc<Unit>>,
    /// The units that name an instance in their spec.
    desired_in: HashMap<InstanceId, HashSet<String>>,
    /// Instances that were removed from the unit's spec, until the operator reports that nothing of them is left. Its
    /// report need not name one that it had not seen before.
    leaving: HashMap<String, HashSet<InstanceId>>,
    /// Instances that start in the unit once its spec names none.
    awaiting: HashMap<String, HashSet<InstanceId>>,
}

impl Cache {
    /// Stores a unit unless a newer version is known. Returns the version before.
    pub(super) fn put(&mut self, unit: Arc<Unit>) -> Option<Arc<Unit>> {
        let before = self.units.get(&unit.name).cloned();
        if before.as_ref().is_some_and(|before| before.newer_than(&unit)) {
            return before;
        }
        self.forget_desired(before.as_deref());
        let left = before.as_ref().and_then(|before| before.desired_instance());
        if let Some(id) = left.filter(|id| unit.desired_instance() != Some(*id)) {
            self.leaving.entry(unit.name.clone()).or_default().insert(id);
        }
        if let Some(id) = unit.desired_instance() {
            self.desired_in.entry(id).or_default().insert(unit.name.clone());
        }
        self.units.insert(unit.name.clone(), unit);
        before
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<Unit>> {
        let before = self.units.remove(name);
        self.leaving.remove(name);
        self.awaiting.remove(name);
        self.forget_desired(before.as_deref());
        before
    }

    /// Returns whether the unit's spec names no instance. Otherwise [`Self::vacated`] returns the instance
    /// once that is so.
    pub(super) fn is_vacated(&mut self, name: &str, instance: InstanceId) -> bool {
        let is_vacated = self.units.get(name).is_none_or(|unit| unit.desired.is_none());
        if !is_vacated {
            self.awaiting.entry(name.to_owned()).or_default().insert(instance);
        }
        is_vacated
    }

    /// Returns the instances that wait for the unit, if its spec names none.
    pub(super) fn vacated(&mut self, name: &str) -> HashSet<InstanceId> {
        match self.units.get(name) {
            Some(unit) if unit.desired.is_none() => self.awaiting.remove(name).unwrap_or_default(),
            _ => HashSet::new(),
        }
    }

    /// Returns the instances that are leaving the unit, with those that its present version reports as gone.
    pub(super) fn leaving(&mut self, name: &str) -> Vec<InstanceId> {
        let (Some(leaving), Some(unit)) = (self.leaving.get_mut(name), self.units.get(name)) else {
            return Vec::new();
        };
        let instances = leaving.iter().copied().collect();
        leaving.retain(|id| !unit.vacated_by(&id.k8s_name()));
        if leaving.is_empty() {
            self.leaving.remove(name);
        }
        instances
    }

    /// Returns the names of the units that name the instance in their spec.
    pub(super) fn desired_in(&self, instance: InstanceId) -> impl Iterator<Item = &String> {
        self.desired_in.get(&instance).into_iter().flatten()
    }

    fn forget_desired(&mut self, before: Option<&Unit>) {
        let Some((unit, id)) = before.and_then(|unit| Some((unit, unit.desired_instance()?))) else { return };
        if let Some(units) = self.desired_in.get_mut(&id) {
            units.remove(&unit.name);
            if units.is_empty() {
                self.desired_in.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crds::UnitState;

    use super::*;
    use gpu_core::unit::DesiredInstance;

    fn unit(name: &str, version: &str, instance: Option<InstanceId>) -> Arc<Unit> {
        Arc::new(Unit {
            name: name.to_owned(),
            own_namespace: None,
            resource_version: version.to_owned(),
            generation: 1,
            observed_generation: None,
            desired: instance.map(|id| DesiredInstance {
                name: id.k8s_name(),
                attempt: 1,
                restart: 0,
                pull_secret: None,
            }),
            state: UnitState::Init,
            node: None,
            cpu_cores: None,
            gpus: 0,
            datacenter: String::new(),
            instance: None,
            runs: Vec::new(),
            failure: None,
            held: None,
            ready: None,
            tenant_code: None,
        })
    }

    fn desired_in(cache: &Cache, instance: InstanceId) -> Vec<&str> {
        let mut names: Vec<&str> = cache.desired_in(instance).map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn an_older_version_does_not_replace_a_newer_one() {
        let (mut cache, id) = (Cache::default(), InstanceId::new());
        assert_eq!(cache.put(unit("a", "9", Some(id))), None);
        let kept = cache.put(unit("a", "8", None)).unwrap();
        assert_eq!((kept.resource_version.as_str(), desired_in(&cache, id)), ("9", vec!["a"]));
        // the same version again is accepted, and so is one that cannot be compared
        assert_eq!(cache.put(unit("a", "9", None)).unwrap().desired_instance(), Some(id));
        cache.put(unit("a", "x", Some(id)));
        assert_eq!(cache.units["a"].resource_version, "x");
    }

    /// A start that is stopped at once: the operator's report is the first one, and does not name the instance.
    #[test]
    fn a_report_concerns_the_instance_that_left_although_it_does_not_name_it() {
        let (mut cache, id) = (Cache::default(), InstanceId::new());
        cache.put(unit("a", "1", Some(id)));
        assert_eq!(cache.leaving("a"), []);
        cache.put(unit("a", "2", None));
        assert_eq!(cache.leaving("a"), [id]);
        let report = Unit { observed_generation: Some(1), ..(*unit("a", "3", None)).clone() };
        cache.put(Arc::new(report));
        assert_eq!(cache.leaving("a"), [id]);
        assert_eq!(cache.leaving("a"), [], "it has left");
        cache.put(unit("a", "4", Some(id)));
        cache.put(unit("a", "5", None));
        cache.remove("a");
        assert!(cache.leaving.is_empty());
    }

    #[test]
    fn who_waits_for_a_unit_is_told_once_when_it_is_vacated() {
        let (mut cache, first, next) = (Cache::default(), InstanceId::new(), InstanceId::new());
        cache.put(unit("a", "1", Some(first)));
        assert!(!cache.is_vacated("a", next));
        assert!(cache.vacated("a").is_empty());
        cache.put(unit("a", "2", None));
        assert_eq!(cache.vacated("a"), HashSet::from([next]));
        assert!(cache.vacated("a").is_empty());
        assert!(cache.is_vacated("a", next));
        assert!(cache.awaiting.is_empty());
    }

    #[test]
    fn units_are_found_by_the_instance_that_their_spec_names() {
        let (mut cache, first, second) = (Cache::default(), InstanceId::new(), InstanceId::new());
        cache.put(unit("a", "1", Some(first)));
        cache.put(unit("b", "2", Some(first)));
        cache.put(unit("c", "3", Some(second)));
        assert_eq!(desired_in(&cache, first), ["a", "b"]);
        cache.put(unit("a", "4", Some(second)));
        cache.remove("b");
        assert_eq!(desired_in(&cache, first), [""; 0]);
        assert_eq!(desired_in(&cache, second), ["a", "c"]);
        assert!(!cache.desired_in.contains_key(&first), "an instance without units is forgotten");
        assert_eq!(cache.remove("b"), None);
    }
}
