//! Stocks in the cluster: units, and the records that make the calls idempotent.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams, Preconditions};
use plans::object_names::digest;
use serde::Serialize;

use super::Parts;
use super::error::Error;
use super::model::{NewStocks, OldStocks};
use crate::records::{self, Record, Records};
use crate::write;

/// How often a unit is read again because it has changed.
const CONFLICTS_MAX: usize = 20;
/// Number of concurrent writes.
const CONCURRENCY: usize = 16;
/// Field manager of the units.
const FIELD_MANAGER: &str = "atelier-operator-api";
/// Key of the request's hash in a record.
const REQUEST: &str = "request";
/// Key of the chosen units in the record of a deletion.
const UNITS: &str = "units";

/// Creates the units, and returns their names.
pub(super) async fn create(parts: &Parts, new: &NewStocks) -> Result<Vec<String>, Error> {
    new.check()?;
    let record = begin(&parts.records, "create-stocks", &new.operation_id, new).await?;
    let names = new.unit_names();
    if record.is_done() {
        return Ok(names);
    }
    stream::iter(names.clone())
        .map(|name| async move { create_unit(parts, new, &name).await })
        .buffer_unordered(CONCURRENCY)
        .try_collect::<Vec<()>>()
        .await?;
    // from now on a repetition creates nothing, even if units have been deleted
    match parts.records.complete(&record, &[]).await {
        Ok(_) | Err(records::Error::InProgress) => Ok(names),
        Err(error) => Err(error.into()),
    }
}

async fn create_unit(parts: &Parts, new: &NewStocks, name: &str) -> Result<(), Error> {
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    match parts.units_api.create(&params, &new.unit(name, &parts.gpu_resource)).await {
        Ok(_) => Ok(()),
        // created by an earlier call of this operation
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(write::Error::from(error).into()),
    }
}

/// Deletes idle units, and returns their names.
pub(super) async fn delete(parts: &Parts, old: &OldStocks) -> Result<Vec<String>, Error> {
    old.check()?;
    let wanted = usize::try_from(old.number).unwrap_or(usize::MAX);
    let mut record = begin(&parts.records, "delete-stocks", &old.operation_id, old).await?;
    if record.is_done() {
        return Ok(record.list(UNITS));
    }
    let mut chosen = record.list(UNITS);
    if chosen.is_empty() {
        chosen = idle_units(parts, &old.spec_name, &[]).into_iter().take(wanted).collect();
        if chosen.len() < wanted {
            parts.records.delete(&record).await?;
            return Err(Error::TooFewIdleUnits { idle: chosen.len() });
        }
        // stored before the first deletion: a repetition deletes the same units
        record = parts.records.update(&record, &[(UNITS, chosen.join(","))]).await?;
    }
    let mut tried = chosen.clone();
    let mut deleted = Vec::new();
    while let Some(name) = chosen.pop() {
        if delete_unit(parts, &name).await? {
            deleted.push(name);
        } else if let Some(other) = idle_units(parts, &old.spec_name, &tried).into_iter().next() {
            // the unit is in use by now: another is deleted instead
            tried.push(other.clone());
            chosen.push(other);
            let all: Vec<String> = deleted.iter().chain(&chosen).cloned().collect();
            record = parts.records.update(&record, &[(UNITS, all.join(","))]).await?;
        }
    }
    deleted.sort();
    parts.records.complete(&record, &[(UNITS, deleted.join(","))]).await?;
    Ok(deleted)
}

/// The record of the operation, if its id does not belong to another request.
async fn begin(records: &Records, kind: &str, id: &str, request: &impl Serialize) -> Result<Record, Error> {
    let hash = digest(&[kind, &serde_json::to_string(request)?]);
    let data = [("kind", kind.to_owned()), (REQUEST, hash.clone())];
    let record = records.begin(&Records::name("op", id), &data).await?;
    if record.get(REQUEST) == hash { Ok(record) } else { Err(Error::OperationIdReused) }
}

/// Names of the idle units of a specification except `but`, those without a place first.
fn idle_units(parts: &Parts, spec: &str, but: &[String]) -> Vec<String> {
    let mut units = parts.units.created_by_api(spec);
    units.retain(|unit| {
        unit.spec.instance.is_none()
            && unit.metadata.deletion_timestamp.is_none()
            && !but.contains(&unit.name_any())
    });
    units.sort_by_key(|unit| {
        (unit.status.as_ref().is_some_and(crds::GpuUnitStatus::is_held), unit.name_any())
    });
    units.iter().map(|unit| unit.name_any()).collect()
}

/// Deletes the unit if it is idle. Returns whether it is deleted or being deleted.
async fn delete_unit(parts: &Parts, name: &str) -> Result<bool, Error> {
    let units = &parts.units_api;
    for _ in 0..CONFLICTS_MAX {
        let Some(unit) = units.get_opt(name).await? else { return Ok(true) };
        if unit.metadata.deletion_timestamp.is_some() {
            return Ok(true);
        }
        if unit.spec.instance.is_some() {
            return Ok(false);
        }
        let as_read = Preconditions { uid: unit.uid(), resource_version: unit.resource_version() };
        let params = DeleteParams { preconditions: Some(as_read), ..DeleteParams::default() };
        match units.delete(name, &params).await {
            Ok(_) => return Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(records::Error::InProgress.into())
}
