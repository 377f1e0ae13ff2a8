//! The newest known version of each unit of a cluster.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ids::InstanceId;

use super::Unit;

#[derive(Default)]
pub(super) struct Cache {
    /// Whether all units have been listed once: a unit that is not here does not exist.
    pub(super) synced: bool,
    /// Whether the watch is connected: what is here is current.
    pub(super) connected: bool,
    pub(super) units: HashMap<String, Arc<Unit>>,
    /// The units whose spec names an instance.
    desired_in: HashMap<InstanceId, HashSet<String>>,
}

impl Cache {
    /// Stores a unit unless a newer version is known. Returns the version before.
    pub(super) fn put(&mut self, unit: Arc<Unit>) -> Option<Arc<Unit>> {
        let before = self.units.get(&unit.name).cloned();
        if before.as_ref().is_some_and(|before| before.newer_than(&unit)) {
            return before;
        }
        self.forget_desired(before.as_deref());
        if let Some(id) = unit.desired_instance() {
            self.desired_in.entry(id).or_default().insert(unit.name.clone());
        }
        self.units.insert(unit.name.clone(), unit);
        before
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<Unit>> {
        let before = self.units.remove(name);
        self.forget_desired(before.as_deref());
        before
    }

    /// Returns the names of the units whose spec names the instance.
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
    use crate::cluster::DesiredInstance;

    fn unit(name: &str, version: &str, instance: Option<InstanceId>) -> Arc<Unit> {
        Arc::new(Unit {
            name: name.to_owned(),
            resource_version: version.to_owned(),
            generation: 1,
            observed_generation: None,
            desired: instance.map(|id| DesiredInstance { name: id.k8s_name(), attempt: 1, restart: 0 }),
            state: UnitState::Init,
            node: None,
            instance: None,
            runs: Vec::new(),
            failure: None,
            held: None,
            ready: None,
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
