//! Orders: a new instance is checked against the catalogue and the other services before it is created.

use api::{Checks, Problem};
use auth::Member;
use clients::stock::{GpuSpec, GpuSpecState};
use ids::{DatacenterId, InstanceId, OperationId, StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::{
    OperationKind,
    model::Instance,
    parts::{CurrentOperation, Order, OrderedGpu},
    state::State,
    store,
};
use crate::{
    budget::Admission,
    catalogue::{self, EnvVar, ServiceImage, check_env},
    error::Error,
    event::By,
    quota, ssh,
    state::AppState,
    tenant,
    usage::Meter,
};

/// The longest name of an instance.
const MAX_NAME: usize = 63;

/// A new instance. It is started at once.
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
    /// Id of a volume of the tenant to mount.
    #[serde(default)]
    pub(crate) storage_id: Option<StorageId>,
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
}

/// Checks the name of an instance.
pub(super) fn check_name(checks: &mut Checks, name: Option<&str>) {
    if let Some(name) = name {
        checks.display_name("/name", name, MAX_NAME);
    }
}

impl NewInstance {
    /// Checks what needs no other service.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, self.name.as_deref());
        let fields = [
            ("/gpu_spec", Some(&self.gpu_spec)),
            ("/service", Some(&self.service)),
            ("/version", self.version.as_ref()),
        ];
        for (pointer, text) in fields.into_iter().filter_map(|(pointer, text)| Some((pointer, text?))) {
            let valid = (1..=63).contains(&text.len()) && !text.chars().any(char::is_control);
            checks.require(valid, pointer, "must be 1 to 63 characters, without control characters");
        }
        checks.extend(check_env("/env", &self.env));
        ssh::check_new_keys(&mut checks, "/ssh_keys", &self.ssh_keys);
        checks.finish()
    }

    /// Checks with the other services, as the user whose access token this is. Returns the GPU specification.
    pub(super) async fn check_references(&self, app: &AppState, token: &str) -> Result<GpuSpec, Problem> {
        let spec = app.stock.gpu_spec(&self.gpu_spec).await;
        let spec = existing(spec, "The stock service", "/gpu_spec", "GPU specification not found")?;
        if spec.state == GpuSpecState::Retired {
            return Err(Problem::invalid_field("/gpu_spec", "this GPU specification is retired"));
        }
        if let Some(id) = self.datacenter {
            let datacenter = app.stock.datacenter(id, token).await;
            existing(datacenter, "The stock service", "/datacenter", "datacenter not found")?;
        }
        if let Some(id) = self.storage_id {
            let storage = app.storage.find(id, token).await;
            existing(storage, "The storage service", "/storage_id", "storage not found")?;
        }
        Ok(spec)
    }

    /// Checks with the tenant and the catalogue. Returns the service image.
    pub(super) async fn check_catalogue(
        &self,
        tx: &mut PgConnection,
        owner: TenantId,
    ) -> Result<ServiceImage, Problem> {
        tenant::check_active(tx, owner).await?;
        let version = self.version.as_deref();
        let found = catalogue::store::find_enabled(tx, &self.service, version).await?;
        let image = found.ok_or_else(|| Problem::invalid_field("/version", missing_version(version)))?;
        if image.deprecated {
            let detail = "this version is deprecated: new instances cannot use it; see GET /v1/services";
            return Err(Problem::invalid_field("/version", detail));
        }
        if self.storage_id.is_some() && image.template.storage_mount_path.is_none() {
            return Err(Problem::invalid_field("/storage_id", "this service uses no storage"));
        }
        Ok(image)
    }

    /// Inserts the instance, with the operation that creates and starts it.
    pub(super) async fn insert(
        &self,
        tx: &mut PgConnection,
        owner: &Member,
        spec: &GpuSpec,
        admission: Admission,
    ) -> Result<Instance, Problem> {
        let image = self.check_catalogue(tx, owner.tenant).await?;
        let instance = self.instance(owner.tenant, spec, image, admission.now);
        if let Some(exceeded) = quota::check(tx, &instance, true).await? {
            return Err(Error::QuotaExceeded(exceeded).into());
        }
        if let Some(refused) = admission.check_start(tx, &instance).await? {
            return Err(Error::Refused(refused).into());
        }
        store::insert(tx, &instance, &By::user(owner.principal.user)).await?;
        Ok(instance)
    }

    /// Returns what is created, without an effect.
    pub(super) fn instance(
        &self,
        tenant: TenantId,
        spec: &GpuSpec,
        image: ServiceImage,
        now: Timestamp,
    ) -> Instance {
        let id = InstanceId::new();
        Instance {
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
                storage_id: self.storage_id,
                datacenter_id: self.datacenter,
                price_per_hour: spec.price_per_hour,
                currency: spec.currency.clone(),
            },
            state: State::Pending { reason: None, wait: self.wait, held: None },
            attempt: 1,
            restart: 0,
            storage: None,
            meter: Meter::default(),
            last_place: None,
            operation: CurrentOperation { id: OperationId::new(), kind: OperationKind::Create },
            generation: 1,
            created_at: now,
            updated_at: now,
        }
    }
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
