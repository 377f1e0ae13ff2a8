//! The Secrets of an instance in clusters: which ones the next pod needs, and which may still exist.

use super::{
    super::secret::{Progress, SecretChange, SecretObject, TrackedSecret},
    Instance,
};
use crate::unit::Unit;

/// Maximum number of deleted Secrets that are kept until it is certain that no delayed call has written them again.
const REMEMBERED: usize = 8;

impl Instance {
    /// Returns the name of the Secret of the current start, if it has one.
    #[must_use]
    pub fn secret_name(&self) -> Option<String> {
        (!self.secrets.is_empty()).then(|| format!("{}-{}", self.id.k8s_name(), self.attempt))
    }

    /// Returns the name of the Secret with which the image of the current start is pulled, if there is a credential. Another
    /// credential has another one.
    #[must_use]
    pub fn pull_secret_name(&self) -> Option<String> {
        let credential = self.pull_credential?.uuid().simple();
        Some(format!("{}-{}-pull-{credential}", self.id.k8s_name(), self.attempt))
    }

    /// Returns the Secrets that the pod in this unit needs, and what was done with each.
    pub(crate) fn needed_secrets(&self, unit: &Unit) -> Vec<(SecretObject, Option<Progress>)> {
        let Some(own) = self.state.unit() else { return Vec::new() };
        let namespace = unit.own_namespace.clone().unwrap_or_else(|| self.tenant.k8s_name());
        let names = [self.secret_name(), self.pull_secret_name()].into_iter().flatten();
        let needed = names.map(|name| {
            let object = SecretObject { cluster: own.cluster.clone(), namespace: namespace.clone(), name };
            let tracked = self.secret_objects.iter().find(|tracked| tracked.object == object);
            let progress = tracked.map(|tracked| tracked.progress);
            (object, progress)
        });
        needed.collect()
    }

    /// Returns Secrets that may exist, except those that were deleted.
    pub(crate) fn live_secrets(&self) -> impl Iterator<Item = &SecretObject> {
        let live = self.secret_objects.iter().filter(|tracked| tracked.progress != Progress::Deleted);
        live.map(|tracked| &tracked.object)
    }

    /// Returns a Secret of an earlier start, or of a credential that is not used any more.
    pub(crate) fn stale_secret(&self) -> Option<&SecretObject> {
        let current = [self.secret_name(), self.pull_secret_name()];
        self.live_secrets().find(|object| !current.iter().flatten().any(|name| *name == object.name))
    }

    /// Records a step with a Secret.
    pub(crate) fn on_secret(&mut self, change: SecretChange) {
        let (object, progress) = match change {
            SecretChange::Planned(object) => (object, Progress::Planned),
            SecretChange::Written(object) => (object, Progress::Written),
            SecretChange::Deleted(object) => (object, Progress::Deleted),
            SecretChange::Forgotten => {
                return self.secret_objects.retain(|tracked| tracked.progress != Progress::Deleted);
            }
        };
        self.secret_objects.retain(|tracked| tracked.object != object);
        self.secret_objects.push(TrackedSecret { object, progress });
        let mut deleted =
            self.secret_objects.iter().filter(|tracked| tracked.progress == Progress::Deleted).count();
        self.secret_objects.retain(|tracked| {
            let is_surplus = deleted > REMEMBERED && tracked.progress == Progress::Deleted;
            deleted -= usize::from(is_surplus);
            !is_surplus
        });
    }
}

#[cfg(test)]
mod tests {
    use ids::RegistryCredentialId;

    use super::{
        super::super::{fixture, secret::SecretRef, state::State},
        *,
    };

    fn object(n: usize) -> SecretObject {
        SecretObject { cluster: "uk-1".into(), namespace: "ten".into(), name: format!("s-{n}") }
    }

    #[test]
    fn deleted_secrets_are_remembered_up_to_a_limit() {
        let mut instance = fixture::instance(State::Deleted);
        for n in 0..20 {
            instance.on_secret(SecretChange::Planned(object(n)));
            instance.on_secret(SecretChange::Written(object(n)));
            assert_eq!(instance.live_secrets().collect::<Vec<_>>(), [&object(n)]);
            instance.on_secret(SecretChange::Deleted(object(n)));
        }
        let names: Vec<_> =
            instance.secret_objects.iter().map(|tracked| tracked.object.name.clone()).collect();
        assert_eq!(names, (12..20).map(|n| object(n).name).collect::<Vec<_>>(), "the latest");
        instance.on_secret(SecretChange::Planned(object(20)));
        instance.on_secret(SecretChange::Forgotten);
        assert_eq!(instance.live_secrets().collect::<Vec<_>>(), [&object(20)]);
        assert_eq!(instance.secret_objects.len(), 1);
    }

    #[test]
    fn the_secret_is_in_the_namespace_of_the_pod() {
        let claim = fixture::claim();
        let starting = State::Starting { claim, reason: None, restarting: false };
        let mut instance = fixture::instance(starting);
        let unit = fixture::idle_unit();
        assert_eq!(instance.needed_secrets(&unit), [], "an instance without secrets");
        instance.secrets = vec![SecretRef { name: "A".into(), updated_at: instance.created_at }];
        let name = format!("{}-2", instance.id.k8s_name());
        let expected = |namespace: String| {
            (SecretObject { cluster: "uk-1".into(), namespace, name: name.clone() }, None)
        };
        assert_eq!(instance.needed_secrets(&unit), [expected(instance.tenant.k8s_name())]);
        let own = Unit { own_namespace: Some("unit-1".into()), ..unit };
        assert_eq!(instance.needed_secrets(&own), [expected("unit-1".into())]);

        let credential = RegistryCredentialId::new();
        instance.pull_credential = Some(credential);
        let names = |instance: &Instance| -> Vec<String> {
            instance.needed_secrets(&own).into_iter().map(|(object, _)| object.name).collect()
        };
        let pull = format!("{name}-pull-{}", credential.uuid().simple());
        assert_eq!(names(&instance), [name, pull.clone()]);
        instance.secrets.clear();
        assert_eq!(names(&instance), std::slice::from_ref(&pull));
        instance.on_secret(SecretChange::Written(instance.needed_secrets(&own).remove(0).0));
        assert_eq!(instance.stale_secret(), None);
        instance.pull_credential = Some(RegistryCredentialId::new());
        assert_eq!(instance.stale_secret().map(|object| &object.name), Some(&pull), "it was replaced");
    }
}
