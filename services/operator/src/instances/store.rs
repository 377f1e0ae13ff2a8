//! Instances in the cluster: the units that run them, and the records that make starts idempotent.

use std::sync::Arc;

use crds::{GpuUnit, Instance, names};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use plans::object_names::name_of;
use serde_json::{Value, json};

use super::Parts;
use super::error::Error;
use super::model::NewInstance;
use crate::records::{self, Records};
use crate::write;

/// How often a unit is read again because it has changed.
const CONFLICTS_MAX: usize = 20;
/// Key of the unit's name in the record of a start.
const UNIT: &str = "unit";

/// Starts the instance in an idle unit, and returns the unit.
pub(super) async fn start(parts: &Parts, new: &NewInstance) -> Result<GpuUnit, Error> {
    let mut instance = new.instance()?;
    // the record is the lock: of two calls for one instance, only one can take a unit
    let data = [("instance", instance.id.clone())];
    let mut record = parts.records.begin(&record_name(&new.instance_id), &data).await?;
    // higher than the attempt of any earlier start
    instance.attempt = (parts.clock)().as_millisecond();
    // the unit chosen by an earlier or concurrent call comes first: another may be chosen only if it cannot be taken
    let chosen = record.get(UNIT).to_owned();
    if !chosen.is_empty()
        && let Some(unit) = take(parts, &chosen, &instance).await?
    {
        return confirm(parts, new, unit, &instance).await;
    }
    for unit in idle_units(parts, &new.spec_name) {
        let name = unit.name_any();
        record = parts.records.update(&record, &[(UNIT, name.clone())]).await?;
        match take(parts, &name, &instance).await {
            Ok(Some(unit)) => return confirm(parts, new, unit, &instance).await,
            Ok(None) => {}
            Err(error) => {
                parts.records.delete(&record).await?;
                return Err(error);
            }
        }
    }
    parts.records.delete(&record).await?;
    Err(Error::NoFreeUnit)
}

/// Stops the instance, and returns its unit.
pub(super) async fn stop(parts: &Parts, id: &str) -> Result<GpuUnit, Error> {
    let name = name_of("inst", id);
    for _ in 0..CONFLICTS_MAX {
        let unit = unit_of(parts, id).await?;
        if unit.spec.instance.as_ref().is_none_or(|instance| instance.id != name) {
            return Ok(unit);
        }
        if let Some(unit) = set_instance(parts, &unit, None).await? {
            return Ok(unit);
        }
    }
    Err(records::Error::InProgress.into())
}

/// The unit of an instance, by its record or among all observed units.
pub(super) async fn unit_of(parts: &Parts, id: &str) -> Result<GpuUnit, Error> {
    let name = name_of("inst", id);
    if let Some(record) = parts.records.get(&record_name(id)).await?
        && let unit = record.get(UNIT)
        && !unit.is_empty()
        && let Some(unit) = parts.units_api.get_opt(unit).await?
        && has_instance(&unit, &name)
    {
        return Ok(unit);
    }
    let observed = parts.units.all().into_iter().find(|unit| has_instance(unit, &name));
    observed.map(Arc::unwrap_or_clone).ok_or(Error::NotFound)
}

fn record_name(id: &str) -> String {
    Records::name("inst", &name_of("inst", id))
}

/// Whether the unit has the instance in its spec or status.
fn has_instance(unit: &GpuUnit, name: &str) -> bool {
    let desired = unit.spec.instance.as_ref().is_some_and(|instance| instance.id == name);
    let actual = unit.status.as_ref().and_then(|status| status.instance.as_ref());
    desired || actual.is_some_and(|instance| instance.id == name)
}

/// Sets the instance of the unit if it is idle. Returns the unit if it has the instance now, by this call or another;
/// `None` if it cannot be taken.
async fn take(parts: &Parts, name: &str, instance: &Instance) -> Result<Option<GpuUnit>, Error> {
    for _ in 0..CONFLICTS_MAX {
        let Some(unit) = parts.units_api.get_opt(name).await? else { return Ok(None) };
        if has_instance(&unit, &instance.id) {
            return Ok(Some(unit));
        }
        let held = unit.status.as_ref().is_some_and(crds::GpuUnitStatus::is_held);
        if !held || unit.spec.instance.is_some() || unit.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        // after a conflict the same unit is tried again, as it may still be idle
        if let Some(unit) = set_instance(parts, &unit, Some(instance)).await? {
            return Ok(Some(unit));
        }
    }
    Err(records::Error::InProgress.into())
}

/// Returns the unit if it has the instance with these values, and the record names this unit: then no other call has
/// taken another one.
async fn confirm(
    parts: &Parts,
    new: &NewInstance,
    unit: GpuUnit,
    instance: &Instance,
) -> Result<GpuUnit, Error> {
    let Some(known) = &unit.spec.instance else { return Err(Error::Stopping) };
    let record = parts.records.get(&record_name(&new.instance_id)).await?;
    if record.is_none_or(|record| record.get(UNIT) != unit.name_any()) {
        set_instance(parts, &unit, None).await?;
        return Err(records::Error::InProgress.into());
    }
    let requested = Instance { attempt: known.attempt, restart: known.restart, ..instance.clone() };
    if *known == requested { Ok(unit) } else { Err(Error::IdReused) }
}

/// Sets the desired instance of a unit. `None` if the unit has changed since it was read.
async fn set_instance(
    parts: &Parts,
    unit: &GpuUnit,
    instance: Option<&Instance>,
) -> Result<Option<GpuUnit>, Error> {
    let body: Value =
        json!({"metadata": {"resourceVersion": unit.resource_version()}, "spec": {"instance": instance}});
    let params = PatchParams { field_manager: Some(names::MANAGER_GPU.to_owned()), ..PatchParams::default() };
    match parts.units_api.patch(&unit.name_any(), &params, &Patch::Merge(&body)).await {
        Ok(unit) => Ok(Some(unit)),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
        Err(error) => Err(write::Error::from(error).into()),
    }
}

/// The units of the specification that hold a place and are idle, by name.
fn idle_units(parts: &Parts, spec: &str) -> Vec<Arc<GpuUnit>> {
    let mut units = parts.units.created_by_api(spec);
    units.retain(|unit| {
        let status = unit.status.as_ref();
        unit.metadata.deletion_timestamp.is_none()
            && unit.spec.instance.is_none()
            && status.is_some_and(|status| status.is_held() && status.instance.is_none())
    });
    units.sort_by_key(|unit| unit.name_any());
    units
}
