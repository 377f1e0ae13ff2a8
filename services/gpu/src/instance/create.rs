//! Ordering an instance: what is asked for is checked against its neighbours before anything is made.

use api::{FieldError, Problem};
use clients::stock::{GpuSpec, GpuSpecState};
use ids::{DatacenterId, InstanceId, OperationId, StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::{
    model::{Instance, State},
    parts::{Meter, Order},
    store,
};
use crate::{
    app::AppState,
    catalogue::{self, EnvVar, check_env},
    error::Error,
    operation::Kind,
};

/// A new instance. It is started at once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewInstance {
    /// Its name, 1 to 63 characters; made up when absent.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// GPU specification, by id or name.
    pub(crate) gpu_spec: String,
    /// Service of the catalogue.
    pub(crate) service: String,
    /// Its version.
    pub(crate) version: String,
    /// A storage of the tenant to mount.
    #[serde(default)]
    pub(crate) storage_id: Option<StorageId>,
    /// Only in this datacenter; anywhere when absent.
    #[serde(default)]
    pub(crate) datacenter: Option<DatacenterId>,
    /// Added to the service's own environment. Not shown again.
    #[serde(default)]
    pub(crate) env: Vec<EnvVar>,
}

/// What is wrong with a name.
pub(super) fn check_name(name: &str) -> Option<FieldError> {
    let fine = (1..=63).contains(&name.chars().count())
        && name.trim() == name
        && !name.chars().any(char::is_control);
    (!fine).then(|| FieldError {
        pointer: "/name".to_owned(),
        detail: "must be 1 to 63 characters, without control characters and outer spaces".to_owned(),
    })
}

fn invalid(pointer: &str, detail: &str) -> Problem {
    Problem::invalid_field(pointer, detail)
}

impl NewInstance {
    /// What can be said without asking anyone.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let mut errors: Vec<FieldError> = self.name.iter().filter_map(|name| check_name(name)).collect();
        for (pointer, text) in
            [("/gpu_spec", &self.gpu_spec), ("/service", &self.service), ("/version", &self.version)]
        {
            if !(1..=63).contains(&text.len()) || text.chars().any(char::is_control) {
                let detail = "must be 1 to 63 characters".to_owned();
                errors.push(FieldError { pointer: pointer.to_owned(), detail });
            }
        }
        errors.extend(check_env("/env", &self.env));
        if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
    }

    /// What only the neighbours know: the specification, whether there is the datacenter, and whether the user
    /// sees the storage.
    pub(super) async fn ask(&self, app: &AppState, token: &str) -> Result<GpuSpec, Problem> {
        let spec = match app.stock.gpu_spec(&self.gpu_spec).await {
            Ok(spec) if spec.state == GpuSpecState::Active => spec,
            Ok(_) => return Err(invalid("/gpu_spec", "this GPU specification is retired; choose another")),
            Err(error) if error.is_not_found() => {
                return Err(invalid("/gpu_spec", "there is no such GPU specification"));
            }
            Err(error) => return Err(Error::Neighbour { what: "The stock service", error }.into()),
        };
        if let Some(datacenter) = self.datacenter {
            match app.stock.datacenter(datacenter, token).await {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {
                    return Err(invalid("/datacenter", "there is no such datacenter"));
                }
                Err(error) => return Err(Error::Neighbour { what: "The stock service", error }.into()),
            }
        }
        if let Some(storage) = self.storage_id {
            match app.storage.find(storage, token).await {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {
                    return Err(invalid("/storage_id", "there is no such storage"));
                }
                Err(error) => return Err(Error::Neighbour { what: "The storage service", error }.into()),
            }
        }
        Ok(spec)
    }

    /// Writes the instance down, with the operation that creates and starts it.
    pub(super) async fn insert(
        &self,
        tx: &mut PgConnection,
        tenant: TenantId,
        spec: &GpuSpec,
    ) -> Result<Instance, Problem> {
        let image = catalogue::store::offered(tx, &self.service, &self.version).await?.ok_or_else(|| {
            invalid("/version", "the catalogue has no such version of this service; see GET /v1/services")
        })?;
        if self.storage_id.is_some() && image.template.storage_mount_path.is_none() {
            return Err(invalid("/storage_id", "this service uses no storage"));
        }
        let (id, now) = (InstanceId::new(), Timestamp::now());
        let name = self.name.clone().unwrap_or_else(|| {
            // the last digits of an id are its random ones
            let hex = id.uuid().simple().to_string();
            let service: String = self.service.chars().take(48).collect();
            format!("{service}-{}", hex.get(26..).unwrap_or_default())
        });
        let instance = Instance {
            id,
            tenant,
            name,
            order: Order {
                gpu_spec_id: spec.id,
                gpu_spec_name: spec.name.clone(),
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
            state: State::Pending { why: None },
            attempt: 1,
            restart: 0,
            storage: None,
            meter: Meter::default(),
            last_place: None,
            operation: (OperationId::new(), Kind::Create),
            generation: 1,
            created_at: now,
            updated_at: now,
        };
        store::insert(tx, &instance).await?;
        Ok(instance)
    }
}
