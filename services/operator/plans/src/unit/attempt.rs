//! The attempt of an instance that an object belongs to.

use crds::{Instance, InstanceStatus, LastFailure, Run};

use crate::observation::ObservedPod;

/// An attempt of an instance. Two objects belong to the same start if their attempts are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt<'a> {
    instance: &'a str,
    number: i64,
}

impl<'a> From<&'a Instance> for Attempt<'a> {
    fn from(wanted: &'a Instance) -> Self {
        Self { instance: &wanted.id, number: wanted.attempt }
    }
}

impl<'a> From<&'a InstanceStatus> for Attempt<'a> {
    fn from(known: &'a InstanceStatus) -> Self {
        Self { instance: &known.id, number: known.attempt }
    }
}

impl<'a> From<&'a LastFailure> for Attempt<'a> {
    fn from(failure: &'a LastFailure) -> Self {
        Self { instance: &failure.instance_id, number: failure.attempt }
    }
}

impl<'a> From<&'a Run> for Attempt<'a> {
    fn from(run: &'a Run) -> Self {
        Self { instance: &run.instance_id, number: run.attempt }
    }
}

impl<'a> From<&'a ObservedPod> for Attempt<'a> {
    fn from(pod: &'a ObservedPod) -> Self {
        Self { instance: &pod.instance, number: pod.attempt }
    }
}
