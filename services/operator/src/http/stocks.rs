//! `POST /stocks`, `DELETE /stocks`.

use std::collections::BTreeMap;

use api::{Json, Problem, ProblemType};
use axum::extract::State;
use axum::http::StatusCode;
use crds::{Allocation, Gpu, GpuUnit, GpuUnitSpec, Resources, names};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, PostParams, Preconditions};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::names::digest;
use super::record::{Record, Records, away, busy};
use super::{Api, Service, refused, required};

/// The most units that one call may make or remove.
const MOST: u32 = 1000;
/// How many of them are written at a time.
const AT_A_TIME: usize = 16;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(create_stocks, delete_stocks))
}

/// Stock to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewStocks {
    /// How many units.
    #[schema(minimum = 1, maximum = 1000)]
    number: u32,
    /// The same for every repetition of this call; known for a week.
    #[serde(rename = "operationID")]
    operation_id: String,
    /// Name of the GPU specification.
    #[serde(rename = "specName")]
    spec_name: String,
    /// CPU of each, a Kubernetes quantity (`4`, `3500m`).
    cpu: String,
    /// Memory of each, a Kubernetes quantity (`16Gi`).
    memory: String,
    /// GPU model.
    #[serde(rename = "gpuType")]
    gpu_type: String,
    /// GPUs of each.
    #[serde(rename = "gpuNum")]
    #[schema(minimum = 0, maximum = 64)]
    gpu_num: u32,
}

/// Stock to remove.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OldStocks {
    /// How many units.
    #[schema(minimum = 1, maximum = 1000)]
    number: u32,
    /// The same for every repetition of this call.
    #[serde(rename = "operationID")]
    operation_id: String,
    /// Name of the GPU specification.
    #[serde(rename = "specName")]
    spec_name: String,
}

/// What came of it. The units hold, or stop holding, their resources soon after.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct StocksAnswer {
    /// As it was given.
    #[serde(rename = "operationID")]
    operation_id: String,
    /// How many units were made or removed.
    number: usize,
    /// Their names.
    units: Vec<String>,
}

impl NewStocks {
    fn check(&self) -> Result<(), Problem> {
        check_number(self.number)?;
        required("/operationID", &self.operation_id, 253)?;
        check_spec_name(&self.spec_name)?;
        required("/gpuType", &self.gpu_type, 63)?;
        for (pointer, value) in [("/cpu", &self.cpu), ("/memory", &self.memory)] {
            if value.len() > 32 || !value.parse::<crds::Quantity>().is_ok_and(|quantity| quantity.milli() > 0)
            {
                return Err(Problem::invalid_field(
                    pointer,
                    "must be a positive Kubernetes quantity such as 4, 3500m or 16Gi",
                ));
            }
        }
        if self.gpu_num > 64 {
            return Err(Problem::invalid_field("/gpuNum", "must be at most 64"));
        }
        Ok(())
    }
}

fn check_number(number: u32) -> Result<(), Problem> {
    if (1..=MOST).contains(&number) {
        Ok(())
    } else {
        Err(Problem::invalid_field("/number", format!("must be 1 to {MOST}")))
    }
}

/// The name is a label's value too.
fn check_spec_name(name: &str) -> Result<(), Problem> {
    let word = |byte: u8| byte.is_ascii_alphanumeric();
    let inside = |byte: u8| word(byte) || matches!(byte, b'-' | b'_' | b'.');
    let good = name.len() <= 63
        && name.bytes().all(inside)
        && name.bytes().next().is_some_and(word)
        && name.bytes().last().is_some_and(word);
    if good {
        Ok(())
    } else {
        Err(Problem::invalid_field("/specName", "must be 1 to 63 letters, digits, '-', '_' or '.'"))
    }
}

/// The record of the operation; 422 when its id was used for another request.
async fn begin(records: &Records, kind: &str, id: &str, request: &impl Serialize) -> Result<Record, Problem> {
    let text = serde_json::to_string(request).map_err(Problem::internal)?;
    let hash = digest(&[kind, &text]);
    let (record, _) = records
        .begin(&Records::name("op", id), &[("kind", kind.to_owned()), ("request", hash.clone())])
        .await?;
    if record.get("request") == hash {
        return Ok(record);
    }
    Err(Problem::new(
        ProblemType::OperationIdReused,
        "An operation with this id was begun with other values.",
    ))
}

/// Makes stock.
#[utoipa::path(post, path = "/stocks", tag = "stocks", operation_id = "create_stocks", request_body = NewStocks,
    responses((status = 202, description = "Made; each unit looks for its place now", body = StocksAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 422, description = "A field is not valid, or the operationID was used otherwise", body = Problem)))]
async fn create_stocks(
    State(api): State<Api>,
    _: Service,
    Json(new): Json<NewStocks>,
) -> Result<(StatusCode, Json<StocksAnswer>), Problem> {
    new.check()?;
    let record = begin(&api.0.records, "create-stocks", &new.operation_id, &new).await?;
    let units: Vec<String> = (0..new.number)
        .map(|index| format!("unit-{}", digest(&[&new.operation_id, &index.to_string()])))
        .collect();
    if record.get("done").is_empty() {
        let objects = api.units_api();
        let params =
            PostParams { field_manager: Some("atelier-operator-api".to_owned()), ..PostParams::default() };
        stream::iter(units.clone())
            .map(|name| {
                let (objects, params, unit) = (&objects, &params, unit(&api, &new, &name));
                async move {
                    match objects.create(params, &unit).await {
                        Ok(_) => Ok(()),
                        // made by an earlier try of this operation
                        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                        Err(error) => Err(refused(error)),
                    }
                }
            })
            .buffer_unordered(AT_A_TIME)
            .try_collect::<Vec<()>>()
            .await?;
        // a repetition after this makes nothing, even if units were removed meanwhile
        match api.0.records.update(&record, &[("done", "true".to_owned())]).await {
            Err(problem) if !problem.is(ProblemType::OperationInProgress) => return Err(problem),
            _ => {}
        }
    }
    Ok((
        StatusCode::ACCEPTED,
        Json(StocksAnswer { operation_id: new.operation_id, number: units.len(), units }),
    ))
}

fn unit(api: &Api, new: &NewStocks, name: &str) -> GpuUnit {
    let spec = GpuUnitSpec {
        gpu_spec: new.spec_name.clone(),
        resources: Resources { cpu: new.cpu.clone(), memory: new.memory.clone(), ephemeral_storage: None },
        gpu: Gpu {
            model: new.gpu_type.clone(),
            count: i64::from(new.gpu_num),
            allocation: Allocation::Device { resource: api.0.gpu_resource.clone() },
        },
        node_selector: BTreeMap::new(),
        datacenter: String::new(),
        instance: None,
    };
    let mut unit = GpuUnit::new(name, spec);
    unit.metadata.labels = Some(BTreeMap::from([
        (names::LABEL_GPU_SPEC.to_owned(), new.spec_name.clone()),
        (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY_OPERATOR_API.to_owned()),
    ]));
    unit
}

/// Removes idle stock: units that hold nothing first.
#[utoipa::path(delete, path = "/stocks", tag = "stocks", operation_id = "delete_stocks", request_body = OldStocks,
    responses((status = 202, description = "Removed; each unit lets its place go now", body = StocksAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 409, description = "Not so many units are idle", body = Problem),
              (status = 422, description = "A field is not valid, or the operationID was used otherwise", body = Problem)))]
async fn delete_stocks(
    State(api): State<Api>,
    _: Service,
    Json(old): Json<OldStocks>,
) -> Result<(StatusCode, Json<StocksAnswer>), Problem> {
    check_number(old.number)?;
    required("/operationID", &old.operation_id, 253)?;
    check_spec_name(&old.spec_name)?;
    let wanted = usize::try_from(old.number).unwrap_or(usize::MAX);
    let mut record = begin(&api.0.records, "delete-stocks", &old.operation_id, &old).await?;
    let answer = |units: Vec<String>| {
        (
            StatusCode::ACCEPTED,
            Json(StocksAnswer { operation_id: old.operation_id.clone(), number: units.len(), units }),
        )
    };
    if !record.get("done").is_empty() {
        return Ok(answer(record.list("units")));
    }
    let mut chosen = record.list("units");
    if chosen.is_empty() {
        chosen = idle(&api, &old.spec_name, &[]).into_iter().take(wanted).collect();
        if chosen.len() < wanted {
            let available = chosen.len();
            api.0.records.forget(&record).await?;
            return Err(Problem::new(
                ProblemType::StockInUse,
                format!("{available} units of this specification are idle."),
            )
            .with("available", available)
            .next("Stop instances, or remove fewer."));
        }
        // what is to go is stored before the first goes: a repetition removes the same
        record = api.0.records.update(&record, &[("units", chosen.join(","))]).await?;
    }
    let mut tried = chosen.clone();
    let mut removed = Vec::new();
    while let Some(name) = chosen.pop() {
        if remove(&api, &name).await? {
            removed.push(name);
        } else if let Some(other) = idle(&api, &old.spec_name, &tried).into_iter().next() {
            // it was taken into use meanwhile: another goes in its stead
            tried.push(other.clone());
            chosen.push(other);
            let all: Vec<String> = removed.iter().chain(&chosen).cloned().collect();
            record = api.0.records.update(&record, &[("units", all.join(","))]).await?;
        }
    }
    removed.sort();
    api.0.records.update(&record, &[("units", removed.join(",")), ("done", "true".to_owned())]).await?;
    Ok(answer(removed))
}

/// Idle units of a specification that were made through this API, those that hold nothing first.
fn idle(api: &Api, spec: &str, but: &[String]) -> Vec<String> {
    let mut units: Vec<_> = api
        .0
        .units
        .created_by_api(spec)
        .into_iter()
        .filter(|unit| {
            unit.spec.instance.is_none()
                && unit.metadata.deletion_timestamp.is_none()
                && !but.contains(&unit.name_any())
        })
        .collect();
    units.sort_by_key(|unit| {
        (unit.status.as_ref().is_some_and(crds::GpuUnitStatus::is_held), unit.name_any())
    });
    units.iter().map(|unit| unit.name_any()).collect()
}

/// Removes the unit if it is idle; true when it is gone or going.
async fn remove(api: &Api, name: &str) -> Result<bool, Problem> {
    let objects = api.units_api();
    for _ in 0..5 {
        let Some(unit) = objects.get_opt(name).await.map_err(away)? else { return Ok(true) };
        if unit.metadata.deletion_timestamp.is_some() {
            return Ok(true);
        }
        if unit.spec.instance.is_some() {
            return Ok(false);
        }
        let very = Preconditions { uid: unit.uid(), resource_version: unit.resource_version() };
        let params = DeleteParams { preconditions: Some(very), ..DeleteParams::default() };
        match objects.delete(name, &params).await {
            Ok(_) => return Ok(true),
            // changed since it was read: look again
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(true),
            Err(error) => return Err(away(error)),
        }
    }
    Err(busy())
}
