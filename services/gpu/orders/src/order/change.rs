//! Changes of an instance: its name, `on_node_loss` and `idle_stop` at any time, the other fields only while it is
//! stopped.

use api::{Checks, Problem};
use auth::Member;
use encryption::Cipher;
use gpu_core::{
    catalogue::{Author, EnvVar, check_env},
    event::{By, Detail},
    instance::{
        IdleConfig, Instance, OnNodeLoss,
        idle_stop::IdleStopSettings,
        mount::{self, NewMount, Requested},
        own_image::{OwnImage, Software},
        port::{self, NewPublicPort},
        secret::{self, NewSecret},
        updated,
    },
};
use instances::instance::{Error, idle_watch, secret_values, store};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};
use sqlx::PgConnection;
use stock_api::{Datacenter, GpuSpec};
use usage::quota;
use utoipa::ToSchema;

use super::{
    Parts,
    create::{check_image, check_name},
    references::{check_storages, check_words, find_datacenter, find_gpu_spec, offer},
};
use crate::registry_credential;

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
    /// New image of the tenant's own, which replaces the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<OwnImage>,
    /// New environment variables, which replace all previous ones.
    #[serde(default)]
    env: Option<Vec<EnvVar>>,
    /// New secrets, which replace all previous ones. A secret without a value keeps its current value.
    #[serde(default, deserialize_with = "secret::optional_list", skip_serializing_if = "Option::is_none")]
    secrets: Option<Vec<NewSecret>>,
    /// New storages, which replace all previous ones. Removed ones are detached and keep their data.
    #[serde(default)]
    storages: Option<Vec<NewMount>>,
    /// New public ports, which replace all previous ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    public_ports: Option<Vec<NewPublicPort>>,
    /// What happens when its node is lost.
    #[serde(default)]
    on_node_loss: Option<OnNodeLoss>,
    /// When it is stopped because it is idle; null for never. The idle time starts again from zero.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdleStopSettings>)]
    idle_stop: Option<Option<IdleStopSettings>>,
}

/// Distinguishes a null field from an absent one.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The new references of a change to other services.
#[derive(Debug, Default)]
pub(super) struct NewReferences {
    spec: Option<GpuSpec>,
    /// Datacenter of the new storages.
    datacenter: Option<Datacenter>,
}

impl InstanceChange {
    /// Checks fields without the instance and without calls to other services.
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
        Ok(checks.finish()?)
    }

    /// Whether it changes the order, and so needs a stopped instance.
    fn reorders(&self) -> bool {
        self.gpu_spec.is_some()
            || self.version.is_some()
            || self.image.is_some()
            || self.env.is_some()
            || self.secrets.is_some()
            || self.storages.is_some()
            || self.public_ports.is_some()
    }

    /// Returns the content that identifies a repeated request.
    pub(super) fn identity(&self, cipher: &Cipher) -> secret_values::Identity<'_, Self> {
        secret_values::Identity::new(self, self.secrets.as_deref().unwrap_or_default(), cipher)
    }

    /// Checks with the other services, with the access token of the user.
    pub(super) async fn check_references(
        &self,
        app: &Parts,
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
            instance.check_stopped().map_err(Error::from)?;
            tenants::check_active(tx, member.tenant).await?;
            if let Some(spec) = new.spec {
                instance.change_spec(offer(spec)).map_err(Error::from)?;
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
                    // the instance moves to the datacenter of its storages
                    instance.change_datacenter(datacenter.id, &datacenter.name).map_err(Error::from)?;
                }
            } else if changes_software {
                mount::check_template(&instance.order.storages, template)?;
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
            Some(Some(_)) => idle_watch::watch(tx, instance.tenant, instance.id, now).await?,
            Some(None) => idle_watch::forget(tx, instance.id).await?,
            None => {}
        }
        if !store::change(tx, instance, &log, &By::user(member.principal.user)).await? {
            return Err(Error::LockedRowChanged.into());
        }
        Ok(())
    }

    /// Returns the new image and how to run it, if that changes.
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
            instance.secrets =
                secret_values::store::replace(tx, of, secret_values::encrypt(secrets, of, cipher)?).await?;
        }
        Ok(())
    }
}
