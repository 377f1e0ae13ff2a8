//! Changes of an instance: its name, `on_node_loss` and `idle_stop` at any time, what was ordered while it is stopped.

use api::{Checks, Problem};
use auth::Member;
use clients::stock::{Datacenter, GpuSpec};
use encryption::Cipher;
use ids::StorageId;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::{
    create::{Software, check_image, check_name, check_words},
    idle_stop::{IdleStop, IdleStopSettings},
    model::Instance,
    mount::{self, Mount, NewMount, Requested},
    own_image::OwnImage,
    parts::{OnNodeLoss, OrderedGpu},
    port::{self, NewPublicPort},
    references::{check_storages, find_datacenter, find_gpu_spec},
    secret::{self, NewSecret},
    state::State,
    store,
};
use crate::{
    catalogue::{Author, EnvVar, check_env},
    config::IdleConfig,
    error::Error,
    event::{By, Detail, InstanceField, Updated},
    idle, quota, registry_credential,
    state::AppState,
    tenant,
};

/// A change of an instance. Absent fields stay as they are. All but the name, `on_node_loss` and
/// `idle_stop` can be changed only while the instance is stopped.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstanceChange {
    /// New name, 1 to 63 characters.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    name: Option<String>,
    /// New GPU specification, by id or name. The price follows. Not while the instance holds a unit.
    #[serde(default)]
    gpu_spec: Option<String>,
    /// New version of the service.
    #[serde(default)]
    version: Option<String>,
    /// New image of the tenant's own, instead of the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<OwnImage>,
    /// New environment variables, instead of all that were given before.
    #[serde(default)]
    env: Option<Vec<EnvVar>>,
    /// New secrets, instead of all that were given before. A secret without a value keeps the present one.
    #[serde(default, deserialize_with = "secret::optional_list", skip_serializing_if = "Option::is_none")]
    secrets: Option<Vec<NewSecret>>,
    /// New storages, instead of all that were given before. Removed ones are detached and keep their data.
    #[serde(default)]
    storages: Option<Vec<NewMount>>,
    /// New public ports, instead of all that were given before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    public_ports: Option<Vec<NewPublicPort>>,
    /// What happens when its node is lost.
    #[serde(default)]
    on_node_loss: Option<OnNodeLoss>,
    /// When it is stopped because it is idle; null to end that. The idle time begins anew.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdleStopSettings>)]
    idle_stop: Option<Option<IdleStopSettings>>,
}

/// Tells a field that is null from one that is absent.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What a change newly refers to in other services.
#[derive(Debug, Default)]
pub(super) struct NewReferences {
    spec: Option<GpuSpec>,
    /// Datacenter of the new storages.
    datacenter: Option<Datacenter>,
}

impl InstanceChange {
    /// Checks what needs neither the instance nor another service.
    pub(super) fn check(&self, idle: IdleConfig) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, self.name.as_deref());
        check_words(
            &mut checks,
            [("/gpu_spec", self.gpu_spec.as_ref()), ("/version", self.version.as_ref())],
        );
        if let Some(image) = &self.image {
            image.check(&mut checks);
        }
        if let Some(env) = &self.env {
            checks.extend(check_env("/env", env, Author::User));
            secret::check_env(&mut checks, "/env", env);
        }
        if let Some(secrets) = &self.secrets {
            secret::check_change(&mut checks, "/secrets", secrets, Author::User);
        }
        if let Some(storages) = &self.storages {
            mount::check_new(&mut checks, &Requested::list(storages));
        }
        if let Some(ports) = &self.public_ports {
            port::check_new(&mut checks, ports);
        }
        if let Some(Some(idle_stop)) = &self.idle_stop {
            idle_stop.check(&mut checks, idle);
        }
        checks.finish()
    }

    /// Whether it changes what was ordered, and so needs a stopped instance.
    fn reorders(&self) -> bool {
        self.gpu_spec.is_some()
            || self.version.is_some()
            || self.image.is_some()
            || self.env.is_some()
            || self.secrets.is_some()
            || self.storages.is_some()
            || self.public_ports.is_some()
    }

    /// What identifies a repeated request.
    pub(super) fn identity(&self, cipher: &Cipher) -> secret::Identity<'_, Self> {
        secret::Identity::new(self, self.secrets.as_deref().unwrap_or_default(), cipher)
    }

    /// Checks with the other services, as the user whose access token this is.
    pub(super) async fn check_references(
        &self,
        app: &AppState,
        subject: &SecretString,
    ) -> Result<NewReferences, Problem> {
        let mut new = NewReferences::default();
        if let Some(storages) = &self.storages {
            let of_storages = check_storages(app, subject, &Requested::list(storages)).await?;
            new.datacenter = find_datacenter(app, subject, None, of_storages).await?;
        }
        if let Some(name) = &self.gpu_spec {
            new.spec = Some(find_gpu_spec(app, Some(subject), name).await?);
        }
        Ok(new)
    }

    /// Changes a locked instance, with its event. Writes nothing if nothing changes.
    pub(super) async fn apply(
        &self,
        tx: &mut PgConnection,
        member: &Member,
        instance: &mut Instance,
        (new, cipher): (NewReferences, &Cipher),
        now: Timestamp,
    ) -> Result<(), Problem> {
        let before = instance.clone();
        if self.reorders() {
            instance.check_stopped()?;
            tenant::check_active(tx, member.tenant).await?;
            if let Some(spec) = new.spec {
                instance.change_spec(spec)?;
            }
            let software = self.new_software(tx, instance).await?;
            let changes_software = software.is_some();
            if let Some(software) = software {
                instance.change_software(software);
            }
            let template = &instance.order.template;
            if let Some(storages) = &self.storages {
                instance.change_storages(mount::resolve(&Requested::list(storages), template)?);
                if let Some(datacenter) = new.datacenter {
                    // the instance goes where its storages are
                    instance.change_datacenter(&datacenter)?;
                }
            } else if changes_software {
                mount::check_template(&instance.order.mounts(), template)?;
            }
            if let Some(env) = &self.env {
                instance.order.env.clone_from(env);
            }
            self.change_secrets(tx, instance, cipher).await?;
            if let Some(ports) = &self.public_ports {
                instance.public_ports = ports.iter().cloned().map(Into::into).collect();
            }
        }
        if let Some(name) = &self.name {
            instance.name.clone_from(name);
        }
        if let Some(on_node_loss) = self.on_node_loss {
            instance.order.on_node_loss = on_node_loss;
        }
        let mut log = Vec::new();
        let idle_stop = self.idle_stop.filter(|settings| !instance.has_idle_stop(*settings));
        if let Some(settings) = idle_stop {
            log = instance.set_idle_stop(settings);
        }
        if *instance == before {
            return Ok(());
        }
        log.insert(0, Detail::Updated(updated(&before, instance)).into());
        match idle_stop {
            Some(Some(_)) => idle::store::watch(tx, instance.tenant, instance.id, now).await?,
            Some(None) => idle::store::forget(tx, instance.id).await?,
            None => {}
        }
        if !store::change(tx, instance, &log, &By::user(member.principal.user)).await? {
            return Err(Error::LockedRowChanged.into());
        }
        Ok(())
    }

    /// Returns what is to run instead, if that changes.
    async fn new_software(
        &self,
        tx: &mut PgConnection,
        instance: &Instance,
    ) -> Result<Option<Software>, Problem> {
        let order = &instance.order;
        if let Some(image) = &self.image {
            if !order.has_own_image() {
                let detail = "must be absent: the instance runs a service of the catalogue";
                return Err(Problem::invalid_field("/image", detail));
            }
            quota::check_own_images(tx, instance.tenant).await?;
            let software = image.software();
            registry_credential::check(tx, instance.tenant, "/image/registry_credential", &image.pull())
                .await?;
            let is_another = software.template != order.template || software.pull != order.pull;
            return Ok(is_another.then_some(software));
        }
        match &self.version {
            Some(_) if order.has_own_image() => {
                let detail =
                    "must be absent: the instance runs an image of the tenant's own. Change `image`.";
                Err(Problem::invalid_field("/version", detail))
            }
            Some(version) if *version != order.version => {
                check_image(tx, &order.service, Some(version)).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Replaces the secrets, if that is requested, after the environment.
    async fn change_secrets(
        &self,
        tx: &mut PgConnection,
        instance: &mut Instance,
        cipher: &Cipher,
    ) -> Result<(), Problem> {
        let mut checks = Checks::default();
        secret::check_names(&mut checks, &instance.order.env, self.secrets.as_deref(), &instance.secrets);
        checks.finish()?;
        if let Some(secrets) = &self.secrets {
            let of = (instance.tenant, instance.id);
            instance.secrets = secret::store::replace(tx, of, secret::encrypt(secrets, of, cipher)?).await?;
        }
        Ok(())
    }
}

impl Instance {
    /// Whether these are its settings.
    fn has_idle_stop(&self, new: Option<IdleStopSettings>) -> bool {
        settings(self) == new.map(IdleStop::from)
    }

    /// # Errors
    /// If the instance is not stopped.
    fn check_stopped(&self) -> Result<(), Error> {
        match &self.state {
            State::Stopped { .. } => Ok(()),
            state => Err(Error::NotStopped(state.into())),
        }
    }

    /// Orders another GPU specification, at its price.
    ///
    /// # Errors
    /// If the instance holds a unit, which is of the present specification.
    fn change_spec(&mut self, spec: GpuSpec) -> Result<(), Error> {
        if spec.id == self.order.gpu_spec_id {
            return Ok(());
        }
        if self.hold().is_some() {
            return Err(Error::UnitHeld);
        }
        let order = &mut self.order;
        order.gpu = Some(OrderedGpu { model: spec.gpu_model, count: spec.gpu_count });
        (order.gpu_spec_id, order.gpu_spec_name) = (spec.id, spec.name);
        (order.price_per_hour, order.currency) = (spec.price_per_hour, spec.currency);
        Ok(())
    }

    fn change_storages(&mut self, mounts: Vec<Mount>) {
        let removed = self.storages();
        self.order.set_mounts(mounts);
        let kept: Vec<StorageId> = self.order.storages.iter().map(|mount| mount.storage_id).collect();
        self.detaching = removed.into_iter().filter(|storage| !kept.contains(storage)).collect();
        self.attached.retain(|storage, _| kept.contains(storage));
    }

    /// Orders units of another datacenter.
    ///
    /// # Errors
    /// If the instance holds a unit of the present one.
    fn change_datacenter(&mut self, datacenter: &Datacenter) -> Result<(), Error> {
        let held = self.hold().map(|hold| hold.claim.place.datacenter_id);
        if held.is_some_and(|held| held != datacenter.id) {
            return Err(Error::UnitHeld);
        }
        self.order.datacenter_id = Some(datacenter.id);
        self.order.datacenter_name = Some(datacenter.name.clone());
        Ok(())
    }

    fn change_software(&mut self, software: Software) {
        let order = &mut self.order;
        (order.version, order.image_id) = (software.version, software.image_id);
        order.pull = software.pull;
        order.set_template(software.template);
    }
}

/// The settings of the idle stop, without its announcement.
fn settings(instance: &Instance) -> Option<IdleStop> {
    let idle_stop = instance.idle_stop.clone()?;
    Some(IdleStop { announced: None, ..idle_stop })
}

/// The event of a change.
fn updated(before: &Instance, after: &Instance) -> Updated {
    let (old, new) = (&before.order, &after.order);
    let fields = [
        (before.name != after.name, InstanceField::Name),
        (old.gpu_spec_id != new.gpu_spec_id, InstanceField::GpuSpec),
        (!new.has_own_image() && old.version != new.version, InstanceField::Version),
        (
            new.has_own_image() && (&old.template, &old.pull) != (&new.template, &new.pull),
            InstanceField::Image,
        ),
        (old.env != new.env, InstanceField::Env),
        (before.secrets != after.secrets, InstanceField::Secrets),
        (old.mounts() != new.mounts(), InstanceField::Storages),
        (before.public_ports != after.public_ports, InstanceField::PublicPorts),
        (old.on_node_loss != new.on_node_loss, InstanceField::OnNodeLoss),
        (settings(before) != settings(after), InstanceField::IdleStop),
    ];
    Updated {
        name: after.name.clone(),
        previous_name: before.name.clone(),
        changed: fields.into_iter().filter_map(|(changed, field)| changed.then_some(field)).collect(),
        gpu_spec: new.gpu_spec_name.clone(),
        version: new.version.clone(),
        price_per_hour: Some(new.price_per_hour),
        currency: new.currency.clone(),
    }
}
