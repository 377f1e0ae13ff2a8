//! The cluster of the simulation: what the operator does with a unit.

use super::*;

impl Model {
    pub(super) fn change(&mut self, u: usize, change: impl FnOnce(&mut Unit)) {
        let old = self.units[u].clone();
        change(&mut self.units[u]);
        if self.units[u] != old {
            self.before[u] = old;
            let version: u64 = self.units[u].resource_version.parse().unwrap();
            self.units[u].resource_version = (version + 1).to_string();
        }
    }

    pub(super) fn end_run(&mut self, u: usize, reason: &str) {
        let (now, mut ended) = (at(self.clock), None);
        if let Some(instance) = &mut self.units[u].instance
            && let Some(since) = instance.running_since.take()
        {
            ended = Some(Run {
                instance_id: instance.id.clone(),
                attempt: instance.attempt,
                running_since: since.clone(),
                ended_at: Time(now),
                end_unseen: false,
                reason: reason.into(),
            });
            let id = InstanceId::from_k8s_name(&instance.id).unwrap();
            *self.truth.entry(id).or_default() += now.as_second() - since.0.as_second();
        }
        if let Some(run) = ended {
            self.change(u, |unit| {
                unit.runs.push(run);
                if unit.runs.len() > RECENT {
                    unit.runs.remove(0);
                }
            });
            self.evidence_lost |= self.units[u].runs.len() == RECENT;
        }
    }

    /// What the operator does, as the contract has it.
    pub(super) fn operate(&mut self, u: usize) {
        let now = at(self.clock);
        let unit = self.units[u].clone();
        let lost = unit.held.as_ref().is_some_and(|held| !held.met);
        let gone = |unit: &mut Unit| {
            unit.instance = None;
            unit.state = UnitState::Init;
            unit.observed_generation = Some(unit.generation);
        };
        match (&unit.desired, &unit.instance) {
            (Some(wants), Some(present)) if wants.name == present.id && wants.attempt == present.attempt => {
                if wants.restart > present.restart {
                    let restart = wants.restart;
                    self.end_run(u, "Restarted");
                    self.change(u, |unit| {
                        unit.state = UnitState::Ready;
                        unit.instance.as_mut().unwrap().restart = restart;
                    });
                } else if present.running_since.is_none() {
                    self.change(u, |unit| {
                        unit.state = UnitState::Running;
                        let instance = unit.instance.as_mut().unwrap();
                        instance.running_since = Some(Time(now));
                        instance.pod_ip = Some("127.0.0.2".into());
                    });
                }
                self.change(u, |unit| unit.observed_generation = Some(unit.generation));
            }
            (_, Some(_)) => {
                self.end_run(u, "Stopped");
                self.change(u, gone);
            }
            (Some(wants), None) => {
                let failed = unit
                    .failure
                    .as_ref()
                    .is_some_and(|f| f.instance_id == wants.name && f.attempt == wants.attempt);
                let status = present(wants, now);
                self.change(u, |unit| {
                    if !failed && !lost {
                        unit.instance = Some(status);
                        unit.state = UnitState::Ready;
                    }
                    unit.observed_generation = Some(unit.generation);
                });
            }
            (None, None) => self.change(u, gone),
        }
    }

    /// The operator had read the spec before its last change, and now makes the pod it asked for.
    pub(super) fn operate_late(&mut self, u: usize) {
        let (read, now) = (self.before[u].clone(), at(self.clock));
        let unit = &self.units[u];
        let unseen = unit.observed_generation.is_none_or(|seen| seen <= read.generation);
        let lost = unit.held.as_ref().is_some_and(|held| !held.met);
        if let Some(wants) = read.desired
            && unseen
            && !lost
            && unit.instance.is_none()
            && !unit
                .failure
                .as_ref()
                .is_some_and(|f| f.instance_id == wants.name && f.attempt == wants.attempt)
        {
            self.change(u, |unit| {
                unit.instance = Some(present(&wants, now));
                unit.state = UnitState::Ready;
                unit.observed_generation = Some(read.generation);
            });
        }
    }
}
