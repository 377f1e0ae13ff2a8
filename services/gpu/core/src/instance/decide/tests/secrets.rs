//! The Secrets of an instance.

use ids::RegistryCredentialId;

use super::*;
use crate::instance::secret::{SecretRef, TrackedSecret};

pub(super) fn secret(name: &str) -> SecretObject {
    SecretObject { cluster: claim().unit.cluster, namespace: "ten".into(), name: name.into() }
}

/// With a secret, and the progress of the Secret of its current start.
fn with_secret(mut instance: Instance, progress: Option<Progress>) -> Instance {
    instance.secrets = vec![SecretRef { name: "TOKEN".into(), updated_at: at(0) }];
    let namespace = instance.tenant.k8s_name();
    let object = SecretObject { namespace, ..secret(&instance.secret_name().unwrap()) };
    instance.secret_objects =
        progress.map(|progress| TrackedSecret { object, progress }).into_iter().collect();
    instance
}

#[test]
fn the_secret_is_written_before_the_unit() {
    for (progress, expected) in [
        (None, "plan secret"),
        (Some(Progress::Planned), "write secret"),
        (Some(Progress::Written), "apply"),
        (Some(Progress::Deleted), "plan secret"),
    ] {
        let instance = with_secret(starting(), progress);
        assert_eq!(outline(&step(&instance, idle_unit())).0, expected, "{progress:?}");
    }
    assert_eq!(outline(&step(&starting(), idle_unit())).0, "apply", "without secrets");
}

/// A running instance with the Secrets of two credentials, of which the second is the current one.
fn with_credentials() -> (Instance, [SecretObject; 2]) {
    let mut instance = running();
    let objects = [RegistryCredentialId::new(), RegistryCredentialId::new()].map(|id| {
        instance.pull_credential = Some(id);
        instance.needed_secrets(&idle_unit()).remove(0).0
    });
    for object in objects.clone() {
        instance.secret_objects.push(TrackedSecret { object, progress: Progress::Written });
    }
    (instance, objects)
}

#[test]
fn a_running_instance_follows_its_credential() {
    let (mut instance, [old, new]) = with_credentials();
    let names = |instance: &Instance, secret: Option<&SecretObject>| {
        let mut unit = unit_with(instance);
        unit.desired.as_mut().unwrap().pull_secret = secret.map(|secret| secret.name.clone());
        unit
    };
    // the unit first, then the cluster
    assert_eq!(step(&instance, names(&instance, Some(&old))), Step::Act(Action::Apply));
    assert_eq!(step(&instance, names(&instance, Some(&new))), Step::Act(Action::DeleteSecret(old.clone())));
    instance.secret_objects[1].progress = Progress::Planned;
    assert_eq!(step(&instance, names(&instance, Some(&old))), Step::Act(Action::WriteSecret(new)));
    // a unit that names none has pulled without one: the next start uses it
    instance.secret_objects.clear();
    assert_eq!(step(&instance, names(&instance, None)), Step::Wait(None));
    // it was deleted
    let (mut instance, [_, new]) = with_credentials();
    instance.secret_objects.remove(0);
    instance.pull_credential = None;
    assert_eq!(step(&instance, names(&instance, Some(&new))), Step::Act(Action::Apply));
    assert_eq!(step(&instance, names(&instance, None)), Step::Act(Action::DeleteSecret(new)));
}

#[test]
fn a_secret_is_deleted_between_the_end_of_the_container_and_the_release() {
    let held = ClaimStatus::Held(claim());
    let left = |instance: &Instance| Unit { instance: Some(status(instance, None)), ..idle_unit() };
    let with_hold =
        instance(State::Stopping { claim: held.clone(), failure: None, reason: None, hold: Some(at(300)) });
    let lost = instance(State::Pending { reason: None, wait: true, held: None, left: Some(claim()) });
    for (instance, end) in [
        (stopping(held.clone()), "release"),
        (deleting(held), "release"),
        (with_hold, "another event"),
        (lost, "release"),
    ] {
        let written = with_secret(instance.clone(), Some(Progress::Written));
        assert_eq!(outline(&step(&written, unit_with(&written))).0, "vacate", "{:?}", instance.state);
        assert_eq!(outline(&step(&written, left(&written))).0, "wait", "{:?}", instance.state);
        for progress in [Progress::Planned, Progress::Written] {
            let written = with_secret(instance.clone(), Some(progress));
            assert_eq!(outline(&step(&written, idle_unit())).0, "delete secret", "{:?}", instance.state);
            let gone = decide(&written, &Observation::Gone, &[], false, at(200));
            assert_eq!(outline(&gone).0, "delete secret", "{:?}", instance.state);
        }
        let deleted = with_secret(instance.clone(), Some(Progress::Deleted));
        assert_eq!(outline(&step(&deleted, idle_unit())).0, end, "{:?}", instance.state);
        // one in another cluster, which may not answer, keeps no unit
        let mut elsewhere = with_secret(instance.clone(), Some(Progress::Written));
        elsewhere.secret_objects[0].object.cluster = "uk-2".into();
        assert_eq!(outline(&step(&elsewhere, idle_unit())).0, end, "{:?}", instance.state);
    }
}

#[test]
fn the_secret_of_an_earlier_start_is_deleted_once_the_next_one_runs() {
    let mut instance = with_secret(running(), Some(Progress::Written));
    let unit = unit_with(&instance);
    assert_eq!(step(&instance, unit.clone()), Step::Wait(None));
    let stale = TrackedSecret { object: secret("inst-1"), progress: Progress::Written };
    instance.secret_objects.push(stale);
    assert_eq!(step(&instance, unit), Step::Act(Action::DeleteSecret(secret("inst-1"))));
    instance.state = State::Stopped { failure: None, hold: None };
    let left = decide(&instance, &Observation::Unknown, &[], false, at(200));
    assert_eq!(outline(&left).0, "delete secret", "no unit is kept for it");
}
