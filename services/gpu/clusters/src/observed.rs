//! A `GpuUnit` as the rules see it.

use std::str::FromStr;

use crds::{GpuUnit, GpuUnitStatus, Quantity, Run, names};
use gpu_core::unit::{Condition, DesiredInstance, Unit};

/// Returns the parts of a `GpuUnit` that concern instances.
pub(crate) fn observed(unit: GpuUnit) -> Unit {
    let status = unit.status.unwrap_or_default();
    let tenant_code = condition(&status, names::CONDITION_TENANT_CODE);
    let (held, ready) =
        (condition(&status, names::CONDITION_HELD), condition(&status, names::CONDITION_INSTANCE_READY));
    let mut runs: Vec<Run> = status.recent_runs.into_iter().rev().collect();
    runs.extend(status.last_run.filter(|last| !runs.contains(last)));
    let name = unit.metadata.name.unwrap_or_default();
    Unit {
        own_namespace: unit.spec.claims_devices().then(|| name.clone()),
        name,
        resource_version: unit.metadata.resource_version.unwrap_or_default(),
        generation: unit.metadata.generation.unwrap_or_default(),
        observed_generation: status.observed_generation,
        desired: unit.spec.instance.map(|instance| DesiredInstance {
            name: instance.id,
            attempt: instance.attempt,
            restart: instance.restart,
            pull_secret: instance.pull_secret_name,
        }),
        state: status.state,
        node: status.node,
        cpu_cores: cores(&unit.spec.resources.cpu),
        gpus: unit.spec.gpu.count,
        datacenter: unit.spec.datacenter,
        instance: status.instance,
        runs,
        failure: status.last_failure,
        held,
        ready,
        tenant_code,
    }
}

/// Returns the CPU cores of a quantity.
fn cores(cpu: &str) -> Option<f64> {
    let millis = cpu.parse::<Quantity>().ok()?.milli();
    (millis > 0).then(|| i32::try_from(millis).ok().map(|millis| f64::from(millis) / 1000.0)).flatten()
}

fn condition<R: FromStr>(status: &GpuUnitStatus, kind: &str) -> Option<Condition<R>> {
    status.condition(kind).map(|condition| Condition {
        met: condition.status == "True",
        reason: condition.reason.parse().ok(),
        message: condition.message.clone(),
    })
}
