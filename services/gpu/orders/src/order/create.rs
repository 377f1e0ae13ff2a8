//! Orders: a new instance is checked against the catalogue and the other services before it is created.

use std::collections::BTreeMap;

use api::{Checks, IdempotencyKey, Problem};
use auth::Member;
use crds::Trust;
use encryption::Cipher;
use gpu_core::{
    catalogue::{Author, EnvVar, check_env},
    event::By,
    instance::{
        CurrentOperation, IdleConfig, Instance, OnNodeLoss, OperationKind, Order, OrderedGpu, State,
        idle_stop::IdleStopSettings,
        mount::{self, Mount, NewMount, Requested},
        own_image::{OwnImage, Software},
        port::{self, NewPublicPort},
        secret::{self, NewSecret},
    },
    meter::Meter,
};
use ids::{InstanceId, OperationId, StorageId, TenantId};
use instances::{
    catalogue,
    instance::{idle_watch, secret_values, store},
};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use usage::{
    budget::{self, Admission},
    quota,
};
use utoipa::ToSchema;

use super::{
    Parts,
    new_volume::NewVolume,
    references::{References, check_storages, check_words, find_datacenter, find_gpu_spec},
};
use crate::{isolation, registry_credential};

/// The longest name of an instance.
const MAX_NAME: usize = 63;

/// A new instance.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewInstance {
    /// Name, 1 to 63 characters. Generated if absent.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    pub name: Option<String>,
    /// GPU specification, by id or name.
    pub gpu_spec: String,
    /// Service of the catalogue. Either this or `image` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// An image of the tenant's own, if an administrator allows it (`own_images` of `GET /v1/quota`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<OwnImage>,
    /// Version of the service. The recommended one if absent.
    #[serde(default)]
    pub version: Option<String>,
    /// Id of a volume of the tenant, mounted at the path of the service. Short form of one entry in `storages`.
    #[serde(default)]
    pub storage_id: Option<StorageId>,
    /// Volumes of the tenant to mount, at most 16, all in one datacenter.
    #[serde(default)]
    pub storages: Vec<NewMount>,
    /// A volume to create and mount, in addition to `storages`. If the instance is refused after the volume was
    /// created, the volume stays, and a repetition with the same idempotency key uses it.
    #[serde(default)]
    pub new_storage: Option<NewVolume>,
    /// Required datacenter, by id or name. That of the storages if absent, any without storages.
    #[serde(default)]
    pub datacenter: Option<String>,
    /// Environment variables, added to those of the service. They are not returned, but `secrets` is the place for
    /// secret values.
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// Secrets: environment variables whose values only the container gets. At most 100.
    #[serde(default, deserialize_with = "secret::list", skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<NewSecret>,
    /// Public keys in OpenSSH format, at most 20, that open this instance only.
    #[serde(default)]
    pub ssh_keys: Vec<String>,
    /// Whether the instance waits in the queue if no unit is free. Otherwise the start fails at once.
    #[serde(default)]
    pub wait: bool,
    /// What happens when its node is lost.
    #[serde(default)]
    pub on_node_loss: OnNodeLoss,
    /// Ports of the container that get their own host names, in addition to the port of the service; at most 10. If
    /// absent, the ports with a title in the service or image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    pub public_ports: Option<Vec<NewPublicPort>>,
    /// Stops the instance when it is idle. It is not stopped if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_stop: Option<IdleStopSettings>,
    /// Whether the instance is started at once. Otherwise it is created stopped.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub start: bool,
}

fn yes() -> bool {
    true
}

/// Checks the name of an instance.
pub(super) fn check_name(checks: &mut Checks, name: Option<&str>) {
    if let Some(name) = name {
        checks.display_name("/name", name, MAX_NAME);
    }
}

impl NewInstance {
    /// Checks fields without calls to other services. The author names its variables and secrets.
    pub(super) fn check(&self, idle: IdleConfig, author: Author) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, self.name.as_deref());
        check_words(
            &mut checks,
            [
                ("/gpu_spec", Some(&self.gpu_spec)),
                ("/service", self.service.as_ref()),
                ("/version", self.version.as_ref()),
                ("/datacenter", self.datacenter.as_ref()),
            ],
        );
        if let Some(image) = &self.image {
            image.check(&mut checks);
            checks.require(self.service.is_none(), "/image", "must be absent if `service` is given");
            checks.require(
                self.version.is_none(),
                "/version",
                "must be absent if `image` is given: its reference has it",
            );
        } else {
            checks.require(self.service.is_some(), "/service", "is required, or `image`");
        }
        checks.extend(check_env("/env", &self.env, author));
        secret::check_env(&mut checks, "/env", &self.env);
        secret::check_new(&mut checks, "/secrets", &self.secrets, author);
        secret::check_names(&mut checks, &self.env, Some(&self.secrets), &[]);
        keys::check_new_keys(&mut checks, "/ssh_keys", &self.ssh_keys);
        mount::check_new(&mut checks, &self.mounts(StorageId::new()));
        if let Some(new) = &self.new_storage {
            new.check(&mut checks);
        }
        port::check_new(&mut checks, self.public_ports.as_deref().unwrap_or_default());
        if let Some(idle_stop) = &self.idle_stop {
            idle_stop.check(&mut checks, idle);
        }
        let both = self.storage_id.is_some() && !self.storages.is_empty();
        checks.require(!both, "/storage_id", "must be absent if `storages` is given");
        checks.require(self.start || !self.wait, "/wait", "must be false if `start` is false");
        Ok(checks.finish()?)
    }

    /// Checks with the other services, with the access token of the user.
    pub(super) async fn check_references(
        &self,
        app: &Parts,
        subject: &SecretString,
    ) -> Result<References, Problem> {
        let spec = find_gpu_spec(app, Some(subject), &self.gpu_spec).await?;
        let of_storages = check_storages(app, subject, &self.existing_mounts()).await?;
        if let Some(new) = &self.new_storage {
            new.check_spec(app, subject).await?;
        }
        let datacenter = find_datacenter(app, subject, self.datacenter.as_deref(), of_storages).await?;
        let not_isolated =
            isolation::check(&app.clusters, datacenter.as_ref().map(|one| one.name.as_str())).err();
        Ok(References { spec, datacenter, new_storage: None, not_isolated })
    }

    /// Creates the requested volume, unless the instance would be refused. A repetition with the same key returns the same
    /// volume.
    pub(super) async fn create_storage(
        &self,
        app: &Parts,
        subject: &SecretString,
        member: &Member,
        key: &IdempotencyKey,
        references: &mut References,
    ) -> Result<(), Problem> {
        let Some(new) = &self.new_storage else { return Ok(()) };
        let mut tx = app.db.tenant(member.tenant).await?;
        self.admitted(&mut tx, &Owner::of(member.tenant), references, app.admission()).await?;
        // nothing is stored
        tx.rollback().await?;
        references.new_storage = Some(new.create(app, subject, key, references.datacenter.as_ref()).await?);
        Ok(())
    }

    /// Checks with the tenant and the catalogue. Returns what runs, and the storages to mount. `created` is the requested
    /// volume, once it exists.
    pub(super) async fn check_catalogue(
        &self,
        tx: &mut PgConnection,
        owner: TenantId,
        created: Option<StorageId>,
    ) -> Result<(Software, Vec<Mount>), Problem> {
        tenants::check_active(tx, owner).await?;
        let image = match &self.image {
            Some(image) => {
                quota::check_own_images(tx, owner).await?;
                registry_credential::check(tx, owner, "/image/registry_credential", &image.pull()).await?;
                image.software()
            }
            None => {
                let service = self.service.as_deref().unwrap_or_default();
                check_image(tx, service, self.version.as_deref()).await?
            }
        };
        if self.storage_id.is_some() && image.template.storage_mount_path.is_none() {
            return Err(Problem::invalid_field("/storage_id", "what runs has no mount path for it"));
        }
        let mounts = mount::resolve(&self.mounts(created.unwrap_or_else(StorageId::new)), &image.template)?;
        Ok((image, mounts))
    }

    /// The requested storages that exist.
    fn existing_mounts(&self) -> Vec<Requested> {
        match self.storage_id {
            Some(id) => vec![Requested { pointer: String::new(), mount: NewMount::at(id, None) }],
            None => Requested::list(&self.storages),
        }
    }

    /// All requested storages. `created` is the id of the requested volume.
    fn mounts(&self, created: StorageId) -> Vec<Requested> {
        let new = self.new_storage.as_ref().map(|new| Requested {
            pointer: "/new_storage".to_owned(),
            mount: NewMount::at(created, new.mount_path.clone()),
        });
        self.existing_mounts().into_iter().chain(new).collect()
    }

    /// Returns the content that identifies a repeated request.
    pub(super) fn identity(&self, cipher: &Cipher) -> secret_values::Identity<'_, Self> {
        secret_values::Identity::new(self, &self.secrets, cipher)
    }

    fn generated_name(&self, id: InstanceId) -> String {
        let what =
            self.image.as_ref().map(OwnImage::short_name).or(self.service.as_deref()).unwrap_or_default();
        // the last digits of an id are random
        let hex = id.uuid().simple().to_string();
        let what: String = what.chars().take(48).collect();
        format!("{what}-{}", hex.get(26..).unwrap_or_default())
    }

    /// Returns the instance, if the tenant's limits and budget allow it.
    async fn admitted(
        &self,
        tx: &mut PgConnection,
        owner: &Owner,
        references: &References,
        admission: Admission,
    ) -> Result<Instance, Problem> {
        let found = self.check_catalogue(tx, owner.tenant, references.new_storage).await?;
        let mut instance = self.instance(owner, references, found, admission.now);
        if !self.start {
            (instance.state, instance.attempt) = (State::Stopped { failure: None, hold: None }, 0);
        }
        if self.start
            && instance.order.trust() == Trust::Tenant
            && let Some(not_isolated) = &references.not_isolated
        {
            return Err(not_isolated.clone().into());
        }
        if let Some(exceeded) = quota::check(tx, &instance, true).await? {
            return Err(quota::problem(exceeded));
        }
        if self.start
            && let Some(refused) = admission.check_start(tx, &instance).await?
        {
            return Err(budget::problem(refused));
        }
        Ok(instance)
    }

    /// Inserts the instance, with the operation that creates it and, unless it is created stopped, starts it.
    pub(super) async fn insert(
        &self,
        tx: &mut PgConnection,
        (owner, by): (&Owner, &By),
        references: &References,
        (admission, cipher): (Admission, &Cipher),
    ) -> Result<Instance, Problem> {
        let mut instance = self.admitted(tx, owner, references, admission).await?;
        store::insert(tx, &instance, by).await?;
        if instance.idle_stop.is_some() {
            idle_watch::watch(tx, instance.tenant, instance.id, instance.created_at).await?;
        }
        if !self.secrets.is_empty() {
            let of = (instance.tenant, instance.id);
            instance.secrets =
                secret_values::store::replace(tx, of, secret_values::encrypt(&self.secrets, of, cipher)?)
                    .await?;
        }
        Ok(instance)
    }

    /// Returns the instance that would be created and started, without an effect.
    pub(super) fn instance(
        &self,
        owner: &Owner,
        References { spec, datacenter, .. }: &References,
        (software, mounts): (Software, Vec<Mount>),
        now: Timestamp,
    ) -> Instance {
        let id = owner.id;
        let public_ports = match &self.public_ports {
            Some(ports) => ports.iter().cloned().map(Into::into).collect(),
            None if owner.managed_by.is_none() => port::titled(&software.template),
            None => Vec::new(),
        };
        Instance {
            id,
            tenant: owner.tenant,
            managed_by: owner.managed_by.clone(),
            name: self.name.clone().unwrap_or_else(|| self.generated_name(id)),
            order: Order {
                gpu_spec_id: spec.id,
                gpu_spec_name: spec.name.clone(),
                gpu: OrderedGpu { model: spec.gpu_model.clone(), count: spec.gpu_count.into() },
                service: software.service,
                version: software.version,
                image_id: software.image_id,
                template: software.template,
                env: self.env.clone(),
                storages: mounts,
                datacenter_id: datacenter.as_ref().map(|datacenter| datacenter.id),
                on_node_loss: self.on_node_loss,
                interruptible: owner.interruptible,
                reaches_peers: owner.reaches_peers,
                runs_tenant_code: owner.runs_tenant_code,
                pull: software.pull,
                datacenter_name: datacenter.as_ref().map(|datacenter| datacenter.name.clone()),
                price_per_hour: spec.price_per_hour,
                currency: spec.currency.clone(),
            },
            idle_stop: self.idle_stop.map(Into::into),
            public_ports,
            state: State::Pending { reason: None, wait: self.wait, held: None, left: None },
            attempt: 1,
            restart: 0,
            restored_attempt: None,
            leave_by: None,
            attached: BTreeMap::new(),
            detaching: Vec::new(),
            secrets: Vec::new(),
            secret_objects: Vec::new(),
            pull_credential: None,
            meter: Meter::default(),
            last_place: None,
            operation: CurrentOperation { id: OperationId::new(), kind: OperationKind::Create },
            generation: 1,
            created_at: now,
            updated_at: now,
        }
    }
}

/// The owner of the new instance, and its id.
pub(super) struct Owner {
    pub(super) id: InstanceId,
    pub(super) tenant: TenantId,
    /// The service that manages it; none if its users do.
    pub(super) managed_by: Option<String>,
    /// Whether an instance that finds no free unit may take the one of this instance.
    pub(super) interruptible: bool,
    /// Whether it and others of its tenant can open connections to each other.
    pub(super) reaches_peers: bool,
    /// Whether programs of the tenant run in it.
    pub(super) runs_tenant_code: bool,
}

impl Owner {
    /// A new instance that the users of the tenant manage.
    pub(super) fn of(tenant: TenantId) -> Self {
        Self {
            id: InstanceId::new(),
            tenant,
            managed_by: None,
            interruptible: false,
            reaches_peers: false,
            runs_tenant_code: false,
        }
    }
}

/// Returns the version of a service, the recommended one if none is given, unless it is deprecated.
pub(super) async fn check_image(
    tx: &mut PgConnection,
    service: &str,
    version: Option<&str>,
) -> Result<Software, Problem> {
    let found = catalogue::store::find_enabled(tx, service, version).await?;
    let image = found.ok_or_else(|| Problem::invalid_field("/version", missing_version(version)))?;
    if image.deprecated {
        let detail = "this version is deprecated: new instances cannot use it; see GET /v1/services";
        return Err(Problem::invalid_field("/version", detail));
    }
    Ok(image.into())
}

fn missing_version(version: Option<&str>) -> &'static str {
    match version {
        Some(_) => "the catalogue has no such version of this service; see GET /v1/services",
        None => "the catalogue recommends no version of this service: choose one; see GET /v1/services",
    }
}
