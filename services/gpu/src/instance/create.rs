//! Orders: a new instance is checked against the catalogue and the other services before it is created.

use std::collections::BTreeMap;

use api::{Checks, Problem};
use auth::Member;
use clients::{
    stock::{GpuSpec, GpuSpecState},
    storage::StorageKind,
};
use ids::{DatacenterId, InstanceId, OperationId, StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::{
    OperationKind,
    idle_stop::IdleStopSettings,
    model::Instance,
    mount::{self, Mount, NewMount},
    parts::{CurrentOperation, OnNodeLoss, Order, OrderedGpu},
    port::{self, NewPublicPort},
    state::State,
    store,
};
use crate::{
    budget::Admission,
    catalogue::{self, EnvVar, ServiceImage, check_env},
    config::IdleConfig,
    error::Error,
    event::By,
    quota, ssh,
    state::AppState,
    tenant,
    usage::Meter,
};

/// The longest name of an instance.
const MAX_NAME: usize = 63;

/// A new instance.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewInstance {
    /// Name, 1 to 63 characters. Generated if absent.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// GPU specification, by id or name.
    pub(crate) gpu_spec: String,
    /// Service of the catalogue.
    pub(crate) service: String,
    /// Version of the service. The recommended one if absent.
    #[serde(default)]
    pub(crate) version: Option<String>,
    /// Id of a volume of the tenant, mounted at the path of the service: short for one entry of `storages`.
    #[serde(default)]
    pub(crate) storage_id: Option<StorageId>,
    /// Volumes of the tenant to mount, at most 16, all in one datacenter.
    #[serde(default)]
    pub(crate) storages: Vec<NewMount>,
    /// Id of the required datacenter. Any datacenter if absent.
    #[serde(default)]
    pub(crate) datacenter: Option<DatacenterId>,
    /// Environment variables, added to those of the service. Not shown again.
    #[serde(default)]
    pub(crate) env: Vec<EnvVar>,
    /// Public keys in OpenSSH format, at most 20, that open this instance only.
    #[serde(default)]
    pub(crate) ssh_keys: Vec<String>,
    /// Whether the instance waits in the queue if no unit is free. Otherwise the start fails at once.
    #[serde(default)]
    pub(crate) wait: bool,
    /// What happens when its node is lost.
    #[serde(default)]
    pub(crate) on_node_loss: OnNodeLoss,
    /// Ports of the container that get host names of their own, besides the one of the service; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub(crate) public_ports: Vec<NewPublicPort>,
    /// Stops the instance when it is idle. It is not stopped if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) idle_stop: Option<IdleStopSettings>,
    /// Whether the instance is started at once. Otherwise it is created stopped.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub(crate) start: bool,
}

fn yes() -> bool {
    true
}

/// Checks names of other resources.
pub(super) fn check_words<const N: usize>(checks: &mut Checks, fields: [(&str, Option<&String>); N]) {
    for (pointer, text) in fields.into_iter().filter_map(|(pointer, text)| Some((pointer, text?))) {
        let valid = (1..=63).contains(&text.len()) && !text.chars().any(char::is_control);
        checks.require(valid, pointer, "must be 1 to 63 characters, without control characters");
    }
}

/// Checks the name of an instance.
pub(super) fn check_name(checks: &mut Checks, name: Option<&str>) {
    if let Some(name) = name {
        checks.display_name("/name", name, MAX_NAME);
    }
}

impl NewInstance {
    /// Checks what needs no other service.
    pub(super) fn check(&self, idle: IdleConfig) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, self.name.as_deref());
        check_words(
            &mut checks,
            [
                ("/gpu_spec", Some(&self.gpu_spec)),
                ("/service", Some(&self.service)),
                ("/version", self.version.as_ref()),
            ],
        );
        checks.extend(check_env("/env", &self.env));
        ssh::check_new_keys(&mut checks, "/ssh_keys", &self.ssh_keys);
        mount::check_new(&mut checks, "/storages", &self.storages);
        port::check_new(&mut checks, &self.public_ports);
        if let Some(idle_stop) = &self.idle_stop {
            idle_stop.check(&mut checks, idle);
        }
        let both = self.storage_id.is_some() && !self.storages.is_empty();
        checks.require(!both, "/storage_id", "must be absent if `storages` is given");
        checks.require(self.start || !self.wait, "/wait", "must be false if `start` is false");
        checks.finish()
    }

    /// Checks with the other services, as the user whose access token this is. Returns the GPU specification.
    pub(super) async fn check_references(&self, app: &AppState, token: &str) -> Result<GpuSpec, Problem> {
        let spec = find_gpu_spec(app, &self.gpu_spec).await?;
        if let Some(id) = self.datacenter {
            let datacenter = app.stock.datacenter(id, token).await;
            existing(datacenter, "The stock service", "/datacenter", "datacenter not found")?;
        }
        let (pointer, storages) = self.mounts();
        check_storages(app, token, pointer, &storages).await?;
        Ok(spec)
    }

    /// Checks with the tenant and the catalogue. Returns the service image, and the storages to mount.
    pub(super) async fn check_catalogue(
        &self,
        tx: &mut PgConnection,
        owner: TenantId,
    ) -> Result<(ServiceImage, Vec<Mount>), Problem> {
        tenant::check_active(tx, owner).await?;
        let image = check_image(tx, &self.service, self.version.as_deref()).await?;
        if self.storage_id.is_some() && image.template.storage_mount_path.is_none() {
            return Err(Problem::invalid_field("/storage_id", "this service uses no storage"));
        }
        let (pointer, storages) = self.mounts();
        let mounts = mount::resolve(pointer, &storages, &image.template)?;
        Ok((image, mounts))
    }

    /// The requested storages, and the pointer to their list.
    fn mounts(&self) -> (&'static str, Vec<NewMount>) {
        match self.storage_id {
            Some(id) => ("", vec![NewMount::at_default(id)]),
            None => ("/storages", self.storages.clone()),
        }
    }

    /// Inserts the instance, with the operation that creates it and, unless it is created stopped, starts it.
    pub(super) async fn insert(
        &self,
        tx: &mut PgConnection,
        owner: &Member,
        spec: &GpuSpec,
        admission: Admission,
    ) -> Result<Instance, Problem> {
        let found = self.check_catalogue(tx, owner.tenant).await?;
        let mut instance = self.instance(owner.tenant, spec, found, admission.now);
        if !self.start {
            (instance.state, instance.attempt) = (State::Stopped { failure: None, hold: None }, 0);
        }
        if let Some(exceeded) = quota::check(tx, &instance, true).await? {
            return Err(Error::QuotaExceeded(exceeded).into());
        }
        if self.start
            && let Some(refused) = admission.check_start(tx, &instance).await?
        {
            return Err(Error::Refused(refused).into());
        }
        store::insert(tx, &instance, &By::user(owner.principal.user)).await?;
        Ok(instance)
    }

    /// Returns what is created and started, without an effect.
    pub(super) fn instance(
        &self,
        tenant: TenantId,
        spec: &GpuSpec,
        (image, mounts): (ServiceImage, Vec<Mount>),
        now: Timestamp,
    ) -> Instance {
        let id = InstanceId::new();
        let mut instance = Instance {
            id,
            tenant,
            name: self.name.clone().unwrap_or_else(|| generated_name(&self.service, id)),
            order: Order {
                gpu_spec_id: spec.id,
                gpu_spec_name: spec.name.clone(),
                gpu: Some(OrderedGpu { model: spec.gpu_model.clone(), count: spec.gpu_count }),
                service: image.service,
                version: image.version,
                image_id: image.id,
                template: image.template,
                env: self.env.clone(),
                storage_id: None,
                storages: Vec::new(),
                datacenter_id: self.datacenter,
                on_node_loss: self.on_node_loss,
                price_per_hour: spec.price_per_hour,
                currency: spec.currency.clone(),
            },
            idle_stop: self.idle_stop.map(Into::into),
            public_ports: self.public_ports.iter().copied().map(Into::into).collect(),
            state: State::Pending { reason: None, wait: self.wait, held: None, left: None },
            attempt: 1,
            restart: 0,
            attached: BTreeMap::new(),
            detaching: Vec::new(),
            meter: Meter::default(),
            last_place: None,
            operation: CurrentOperation { id: OperationId::new(), kind: OperationKind::Create },
            generation: 1,
            created_at: now,
            updated_at: now,
        };
        instance.order.set_mounts(mounts);
        instance
    }
}

/// Returns a GPU specification that new starts can use.
pub(super) async fn find_gpu_spec(app: &AppState, id_or_name: &str) -> Result<GpuSpec, Problem> {
    let spec = app.stock.gpu_spec(id_or_name).await;
    let spec = existing(spec, "The stock service", "/gpu_spec", "GPU specification not found")?;
    if spec.state == GpuSpecState::Retired {
        return Err(Problem::invalid_field("/gpu_spec", "this GPU specification is retired"));
    }
    Ok(spec)
}

/// Checks that the storages are volumes of the tenant in one datacenter, as the user whose access token this is. Without a
/// pointer to a list, the only one is at `/storage_id`.
pub(super) async fn check_storages(
    app: &AppState,
    token: &str,
    pointer: &str,
    storages: &[NewMount],
) -> Result<(), Problem> {
    let mut datacenter: Option<String> = None;
    for (i, mount) in storages.iter().enumerate() {
        let at = match pointer {
            "" => "/storage_id".to_owned(),
            list => format!("{list}/{i}/storage_id"),
        };
        let found = app.storage.find(mount.storage_id, token).await;
        let found = existing(found, "The storage service", &at, "storage not found")?;
        if found.kind == StorageKind::Bucket {
            return Err(Problem::invalid_field(at, "a bucket cannot be mounted: choose a volume"));
        }
        if let (Some(one), Some(other)) = (&datacenter, &found.datacenter)
            && one != other
        {
            let detail =
                format!("is in the datacenter {other}, and another one in {one}: they must be in one");
            return Err(Problem::invalid_field(at, detail));
        }
        datacenter = datacenter.or(found.datacenter);
    }
    Ok(())
}

/// Returns the version of a service, the recommended one if none is given, unless it is deprecated.
pub(super) async fn check_image(
    tx: &mut PgConnection,
    service: &str,
    version: Option<&str>,
) -> Result<ServiceImage, Problem> {
    let found = catalogue::store::find_enabled(tx, service, version).await?;
    let image = found.ok_or_else(|| Problem::invalid_field("/version", missing_version(version)))?;
    if image.deprecated {
        let detail = "this version is deprecated: new instances cannot use it; see GET /v1/services";
        return Err(Problem::invalid_field("/version", detail));
    }
    Ok(image)
}

/// Returns what another service found; a missing resource is an invalid field.
fn existing<T>(
    found: Result<T, clients::Error>,
    service: &'static str,
    pointer: &str,
    missing: &str,
) -> Result<T, Problem> {
    found.map_err(|cause| {
        if cause.is_not_found() {
            Problem::invalid_field(pointer, missing)
        } else {
            Error::Service { service, cause }.into()
        }
    })
}

fn missing_version(version: Option<&str>) -> &'static str {
    match version {
        Some(_) => "the catalogue has no such version of this service; see GET /v1/services",
        None => "the catalogue recommends no version of this service: choose one; see GET /v1/services",
    }
}

fn generated_name(service: &str, id: InstanceId) -> String {
    // the last digits of an id are random
    let hex = id.uuid().simple().to_string();
    let service: String = service.chars().take(48).collect();
    format!("{service}-{}", hex.get(26..).unwrap_or_default())
}
