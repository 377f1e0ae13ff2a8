//! `POST /gpu-instances`, `GET` and `DELETE /gpu-instances/{instanceID}`.

use std::sync::Arc;

use api::{FieldError, Json, Path, Problem, ProblemType};
use axum::extract::State;
use axum::http::StatusCode;
use crds::{EnvVar, GpuUnit, Instance, Port, Protocol, UnitState, Volume, names as crd};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::names::name_of;
use super::record::{Records, away, busy};
use super::{Api, Service, refused, required};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(start_instance)).routes(routes!(get_instance, stop_instance))
}

/// An instance to start.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewInstance {
    /// Its id: `inst_…`, or any text.
    #[serde(rename = "instanceID")]
    instance_id: String,
    /// Its tenant's id: `ten_…`, or any text.
    #[serde(rename = "tenantID")]
    tenant_id: String,
    /// Its tenant's name.
    #[serde(rename = "tenantName")]
    tenant_name: String,
    /// Container image.
    image: String,
    /// The storage that the template's volumes mount; empty for temporary folders.
    #[serde(rename = "storageID", default)]
    storage_id: String,
    /// Name of the GPU specification whose stock it takes.
    #[serde(rename = "specName")]
    spec_name: String,
    /// What runs.
    template: Template,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Template {
    /// Ports the service listens on.
    #[serde(default)]
    ports: Vec<TemplatePort>,
    /// Environment.
    #[serde(default)]
    envs: Vec<TemplateEnv>,
    /// Shell command; the image's own when empty.
    #[serde(default)]
    cmd: String,
    /// Where the storage is mounted.
    #[serde(default)]
    volumes: Vec<TemplateVolume>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplatePort {
    /// Number.
    #[schema(minimum = 1, maximum = 65535)]
    port: u16,
    /// `TCP` (also when empty), `UDP` or `SCTP`.
    #[serde(default)]
    protocol: String,
    /// Reached by users.
    #[serde(default, rename = "isPublic")]
    is_public: bool,
    /// The readiness probe asks here.
    #[serde(default, rename = "isProbe")]
    is_probe: bool,
    /// Path of the probe's GET; empty: TCP only.
    #[serde(default, rename = "baseUrl")]
    base_url: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplateEnv {
    /// Name.
    name: String,
    /// Value.
    #[serde(default)]
    value: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplateVolume {
    /// Name.
    name: String,
    /// Absolute path.
    #[serde(rename = "mountPath")]
    mount_path: String,
    /// Mounted without the right to write.
    #[serde(default, rename = "readOnly")]
    read_only: bool,
}

/// How an instance fares.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct InstanceAnswer {
    /// `init`, `ready` or `running`.
    state: String,
    /// As it was given.
    #[serde(rename = "instanceID")]
    instance_id: String,
    /// Why it is not running, a documented word; empty when it runs.
    reason: String,
    /// The same for people.
    message: String,
    /// The unit of stock it takes.
    unit: String,
    /// The node it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The address of its pod.
    #[serde(rename = "podIP", skip_serializing_if = "Option::is_none")]
    pod_ip: Option<String>,
    /// Since when it has been running.
    #[serde(rename = "runningSince", skip_serializing_if = "Option::is_none")]
    running_since: Option<String>,
    /// The last lines of a start that failed.
    #[serde(rename = "logTail", skip_serializing_if = "String::is_empty")]
    log_tail: String,
}

impl NewInstance {
    /// The instance as the custom resource wants it; 422 for what can be seen to be wrong from here.
    fn instance(&self) -> Result<Instance, Problem> {
        required("/instanceID", &self.instance_id, 253)?;
        required("/tenantID", &self.tenant_id, 253)?;
        required("/tenantName", &self.tenant_name, 253)?;
        required("/image", &self.image, 1024)?;
        required("/specName", &self.spec_name, 63)?;
        let mut errors = Vec::new();
        let mut wrong =
            |pointer: String, detail: &str| errors.push(FieldError { pointer, detail: detail.to_owned() });
        let mut ports = Vec::new();
        for (n, port) in self.template.ports.iter().enumerate() {
            let protocol = match port.protocol.as_str() {
                "" | "TCP" => Protocol::Tcp,
                "UDP" => Protocol::Udp,
                "SCTP" => Protocol::Sctp,
                _ => {
                    wrong(format!("/template/ports/{n}/protocol"), "must be TCP, UDP or SCTP");
                    continue;
                }
            };
            if port.port == 0 {
                wrong(format!("/template/ports/{n}/port"), "must be 1 to 65535");
            }
            ports.push(Port {
                port: i32::from(port.port),
                protocol,
                is_public: port.is_public,
                is_probe: port.is_probe,
                base_url: port.base_url.clone(),
            });
        }
        for (n, volume) in self.template.volumes.iter().enumerate() {
            if !volume.mount_path.starts_with('/') {
                wrong(format!("/template/volumes/{n}/mountPath"), "must be an absolute path");
            }
            if self.template.volumes.iter().take(n).any(|other| other.name == volume.name) {
                wrong(format!("/template/volumes/{n}/name"), "must differ from the other volumes' names");
            }
        }
        for (n, env) in self.template.envs.iter().enumerate() {
            if env.name.is_empty() || env.name.contains('=') {
                wrong(format!("/template/envs/{n}/name"), "must not be empty or contain '='");
            }
        }
        if !errors.is_empty() {
            return Err(Problem::invalid(errors));
        }
        let storage = (!self.storage_id.is_empty()).then(|| name_of("stor", &self.storage_id));
        let mut instance: Instance = serde_json::from_value(json!({
            "id": name_of("inst", &self.instance_id),
            "attempt": 0,
            "tenantId": name_of("ten", &self.tenant_id),
            "tenantName": self.tenant_name,
            "image": self.image,
        }))
        .map_err(Problem::internal)?;
        instance.ports = ports;
        instance.env = self
            .template
            .envs
            .iter()
            .map(|env| EnvVar { name: env.name.clone(), value: env.value.clone() })
            .collect();
        if !self.template.cmd.is_empty() {
            instance.command = vec!["/bin/sh".to_owned(), "-c".to_owned(), self.template.cmd.clone()];
        }
        instance.volumes = self
            .template
            .volumes
            .iter()
            .map(|volume| Volume {
                name: volume.name.clone(),
                mount_path: volume.mount_path.clone(),
                read_only: volume.read_only,
                storage: storage.clone(),
            })
            .collect();
        Ok(instance)
    }
}

fn record_name(id: &str) -> String {
    Records::name("inst", &name_of("inst", id))
}

/// Whether the unit has to do with the instance, by wish or by what still runs.
fn concerns(unit: &GpuUnit, name: &str) -> bool {
    let wanted = unit.spec.instance.as_ref().is_some_and(|instance| instance.id == name);
    wanted
        || unit
            .status
            .as_ref()
            .and_then(|status| status.instance.as_ref())
            .is_some_and(|instance| instance.id == name)
}

/// Takes one idle unit of the specification and starts the instance in it.
#[utoipa::path(post, path = "/gpu-instances", tag = "gpu-instances", operation_id = "start_gpu_instance", request_body = NewInstance,
    responses((status = 202, description = "Starting", body = InstanceAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 409, description = "No unit of the specification is free, or the instance is being stopped", body = Problem),
              (status = 422, description = "A field is not valid, or the instance runs with other values", body = Problem)))]
async fn start_instance(
    State(api): State<Api>,
    _: Service,
    Json(new): Json<NewInstance>,
) -> Result<(StatusCode, Json<InstanceAnswer>), Problem> {
    let mut instance = new.instance()?;
    // the record is the lock: of two calls for one instance only one may take a unit
    let begun =
        api.0.records.begin(&record_name(&new.instance_id), &[("instance", instance.id.clone())]).await?;
    let mut record = begun.0;
    // larger than that of any earlier start of this instance
    instance.attempt = (api.0.clock)().as_millisecond();
    // what an earlier try, or one at this very moment, has chosen comes first: only if that unit cannot be
    // had may another be chosen
    let chosen = record.get("unit").to_owned();
    if !chosen.is_empty()
        && let Some(unit) = take(&api, &chosen, &instance).await?
    {
        return settled(&api, &new, &unit, &instance).await;
    }
    for unit in free(&api, &new.spec_name) {
        let name = unit.name_any();
        record = api.0.records.update(&record, &[("unit", name.clone())]).await?;
        let taken = match take(&api, &name, &instance).await {
            Ok(taken) => taken,
            Err(problem) => {
                api.0.records.forget(&record).await?;
                return Err(problem);
            }
        };
        if let Some(unit) = taken {
            return settled(&api, &new, &unit, &instance).await;
        }
    }
    api.0.records.forget(&record).await?;
    Err(Problem::new(
        ProblemType::StockExhausted,
        "Every unit of this specification is in use or holds no place.",
    ))
}

/// Puts the instance into the unit if that is free; gives the unit that has it now, by this call or by
/// another; `None` when the unit cannot be had.
async fn take(api: &Api, name: &str, instance: &Instance) -> Result<Option<GpuUnit>, Problem> {
    for _ in 0..20 {
        let Some(unit) = api.units_api().get_opt(name).await.map_err(away)? else { return Ok(None) };
        if concerns(&unit, &instance.id) {
            return Ok(Some(unit));
        }
        let held = unit.status.as_ref().is_some_and(crds::GpuUnitStatus::is_held);
        if !held || unit.spec.instance.is_some() || unit.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let body =
            json!({"metadata": {"resourceVersion": unit.resource_version()}, "spec": {"instance": instance}});
        match patch(api, name, &body).await {
            Ok(unit) => return Ok(Some(unit)),
            // changed since it was read: look again, and do not turn to another while this one is free
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(busy())
}

/// The answer for an instance that has its unit, once it is certain that no other call gave it another.
async fn settled(
    api: &Api,
    new: &NewInstance,
    unit: &GpuUnit,
    instance: &Instance,
) -> Result<(StatusCode, Json<InstanceAnswer>), Problem> {
    let Some(known) = &unit.spec.instance else {
        return Err(Problem::new(ProblemType::InstanceStopping, "An instance of this id is still ending."));
    };
    let record = api.0.records.get(&record_name(&new.instance_id)).await?;
    if record.is_none_or(|record| record.get("unit") != unit.name_any()) {
        let body =
            json!({"metadata": {"resourceVersion": unit.resource_version()}, "spec": {"instance": null}});
        match patch(api, &unit.name_any(), &body).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(away(error)),
        }
        return Err(busy());
    }
    let asked = Instance { attempt: known.attempt, restart: known.restart, ..instance.clone() };
    if *known != asked {
        return Err(Problem::new(
            ProblemType::InstanceIdReused,
            "An instance of this id was started with other values.",
        ));
    }
    Ok((StatusCode::ACCEPTED, Json(answer(unit, &new.instance_id))))
}

/// Units of the specification that hold a place and are idle, those known to be quiet first.
fn free(api: &Api, spec: &str) -> Vec<Arc<GpuUnit>> {
    let mut units: Vec<_> = api
        .0
        .units
        .created_by_api(spec)
        .into_iter()
        .filter(|unit| {
            let status = unit.status.as_ref();
            unit.metadata.deletion_timestamp.is_none()
                && unit.spec.instance.is_none()
                && status.is_some_and(|status| status.is_held() && status.instance.is_none())
        })
        .collect();
    units.sort_by_key(|unit| unit.name_any());
    units
}

async fn patch(api: &Api, name: &str, body: &Value) -> Result<GpuUnit, kube::Error> {
    let params = PatchParams { field_manager: Some(crd::MANAGER_GPU.to_owned()), ..PatchParams::default() };
    api.units_api().patch(name, &params, &Patch::Merge(body)).await
}

/// The unit of an instance, by its record or by what is known of all units.
async fn unit_of(api: &Api, id: &str) -> Result<Option<GpuUnit>, Problem> {
    let name = name_of("inst", id);
    if let Some(record) = api.0.records.get(&record_name(id)).await? {
        let unit = record.get("unit");
        let found = if unit.is_empty() { None } else { api.units_api().get_opt(unit).await.map_err(away)? };
        if let Some(unit) = found.filter(|unit| concerns(unit, &name)) {
            return Ok(Some(unit));
        }
    }
    Ok(api.0.units.all().into_iter().find(|unit| concerns(unit, &name)).map(|unit| (*unit).clone()))
}

/// How an instance fares.
#[utoipa::path(get, path = "/gpu-instances/{instanceID}", tag = "gpu-instances", operation_id = "get_gpu_instance",
    params(("instanceID" = String, Path, description = "As it was started")),
    responses((status = 200, description = "Its state", body = InstanceAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 404, description = "None runs here", body = Problem)))]
async fn get_instance(
    State(api): State<Api>,
    _: Service,
    Path(id): Path<String>,
) -> Result<Json<InstanceAnswer>, Problem> {
    let unit = unit_of(&api, &id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(answer(&unit, &id)))
}

/// Ends an instance gracefully; its unit is free again once it has ended.
#[utoipa::path(delete, path = "/gpu-instances/{instanceID}", tag = "gpu-instances", operation_id = "stop_gpu_instance",
    params(("instanceID" = String, Path, description = "As it was started")),
    responses((status = 202, description = "Ending", body = InstanceAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 404, description = "None runs here", body = Problem)))]
async fn stop_instance(
    State(api): State<Api>,
    _: Service,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<InstanceAnswer>), Problem> {
    let name = name_of("inst", &id);
    for _ in 0..5 {
        let unit = unit_of(&api, &id).await?.ok_or_else(Problem::not_found)?;
        if unit.spec.instance.as_ref().is_none_or(|instance| instance.id != name) {
            return Ok((StatusCode::ACCEPTED, Json(answer(&unit, &id))));
        }
        let body =
            json!({"metadata": {"resourceVersion": unit.resource_version()}, "spec": {"instance": null}});
        match patch(&api, &unit.name_any(), &body).await {
            Ok(unit) => return Ok((StatusCode::ACCEPTED, Json(answer(&unit, &id)))),
            // changed since it was read: look again
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(away(error)),
        }
    }
    Err(busy())
}

fn answer(unit: &GpuUnit, id: &str) -> InstanceAnswer {
    let name = name_of("inst", id);
    let status = unit.status.clone().unwrap_or_default();
    let own = status.instance.as_ref().filter(|own| own.id == name);
    let ready = status.condition(crd::CONDITION_INSTANCE_READY).filter(|ready| ready.status != "True");
    let wanted = unit.spec.instance.as_ref().filter(|instance| instance.id == name);
    let failure = status.last_failure.as_ref().filter(|failure| {
        wanted.is_some_and(|wanted| failure.instance_id == wanted.id && failure.attempt == wanted.attempt)
    });
    let state = if own.is_some() { status.state } else { UnitState::Init };
    let (reason, message) = match failure {
        Some(failure) => (failure.reason.clone(), failure.message.clone()),
        None => ready.map(|ready| (ready.reason.clone(), ready.message.clone())).unwrap_or_default(),
    };
    InstanceAnswer {
        state: state.as_str().to_owned(),
        instance_id: id.to_owned(),
        reason,
        message,
        unit: unit.name_any(),
        node: status.node.clone(),
        pod_ip: own.and_then(|own| own.pod_ip.clone()),
        running_since: own.and_then(|own| own.running_since.as_ref()).map(|since| since.0.to_string()),
        log_tail: failure.map(|failure| failure.log_tail.clone()).unwrap_or_default(),
    }
}
