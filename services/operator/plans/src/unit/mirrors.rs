//! The part of a plan that mirrors storages into the unit's namespace.

use std::collections::BTreeSet;

use crds::Instance;

use super::action::Action;
use super::planner::Planner;
use super::status;
use crate::observation::ObservedMirror;

impl Planner<'_> {
    /// Creates the mirrors that the instance needs. Returns why its storages cannot be mounted yet; none if
    /// they can.
    pub(super) fn create_missing_mirrors(&mut self, wanted: &Instance) -> Option<String> {
        if !self.unit.spec.claims_devices() {
            return None;
        }
        let mut why = None;
        for storage in wanted.volumes.iter().filter_map(|volume| volume.storage.as_ref()) {
            let known = self.snapshot.storages.get(storage);
            let Some(volume) = known.and_then(|storage| storage.volume.clone()) else {
                why = Some(format!("storage {storage} is not bound to a volume yet"));
                continue;
            };
            if !self.create_mirror(storage, &volume) {
                why = Some(format!(
                    "the volume of storage {storage} is being mirrored into the unit's namespace"
                ));
            }
        }
        why
    }

    /// Takes the next step for one mirror. Returns whether it can be mounted.
    fn create_mirror(&mut self, storage: &str, volume: &str) -> bool {
        let found = self.snapshot.mirrors.iter().find(|mirror| mirror.storage == storage);
        let is_due = match found {
            None => true,
            Some(mirror) if mirror.deleting || mirror.source != volume || is_unbindable(mirror) => {
                if !is_disappearing(mirror) {
                    self.plan.before_status.push(Action::DeleteMirror(mirror.clone()));
                }
                false
            }
            Some(mirror) if mirror.phase == "Bound" => return true,
            // its claim may be missing
            Some(mirror) => {
                let remaining = self.remaining(mirror.created_at, self.settings.hand_off());
                if !remaining.is_zero() {
                    self.requeue_after(remaining);
                }
                remaining.is_zero()
            }
        };
        if is_due {
            let (storage, volume) = (storage.to_owned(), volume.to_owned());
            self.plan.before_status.push(Action::CreateMirror { storage, volume });
            self.requeue_after(self.settings.hand_off());
        }
        false
    }

    /// Deletes the mirrors that no pod uses.
    pub(super) fn clean_up_mirrors(&mut self) {
        if self.snapshot.mirrors.is_empty() || self.live_instances().next().is_some() {
            return;
        }
        let wanted = self.unit.spec.instance.as_ref();
        let wanted = wanted.filter(|wanted| {
            self.unit.metadata.deletion_timestamp.is_none() && !status::has_failed(&self.plan.status, wanted)
        });
        let volumes = wanted.into_iter().flat_map(|wanted| &wanted.volumes);
        let needed: BTreeSet<&String> = volumes.filter_map(|volume| volume.storage.as_ref()).collect();
        for mirror in self.snapshot.mirrors.iter().filter(|mirror| !needed.contains(&mirror.storage)) {
            if !is_disappearing(mirror) {
                self.plan.after_status.push(Action::DeleteMirror(mirror.clone()));
            }
        }
    }
}

/// The mirror cannot be bound again.
fn is_unbindable(mirror: &ObservedMirror) -> bool {
    matches!(mirror.phase.as_str(), "Released" | "Failed")
}

/// The mirror is being deleted, and no claim keeps it.
fn is_disappearing(mirror: &ObservedMirror) -> bool {
    mirror.deleting && mirror.phase != "Bound"
}
