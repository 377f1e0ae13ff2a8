//! Functions for `atelier-admin`: the inventory of the object store, and storages that exist without a row.

use anyhow::{Context, ensure};
use ids::{StorageId, TenantId};
use sqlx::{Connection, PgConnection};
use storage_api::StorageKind;

use crate::{
    config::ObjectStoreConfig,
    object_store::{ObjectStore, user_of},
    operation::{self, Kind as OperationKind},
    storage::{self, Order, Place},
    storage_spec::{self, AccessMode},
};

/// A volume or bucket that exists and has no row.
#[derive(Debug, Clone)]
pub struct Adoption {
    /// Id, by which its resource or bucket is named.
    pub id: StorageId,
    /// The owner.
    pub tenant: TenantId,
    /// Name for users.
    pub name: String,
    /// Name of the specification, which gives it its price.
    pub storage_spec: String,
    /// Size in GiB.
    pub size_gib: i64,
    /// Where a volume is; none for a bucket.
    pub volume: Option<AdoptedVolume>,
}

/// Where a volume is, and how it was made.
#[derive(Debug, Clone)]
pub struct AdoptedVolume {
    /// Name of the datacenter.
    pub datacenter: String,
    /// Name of its cluster.
    pub cluster: String,
    /// Storage class; the cluster's default if none.
    pub storage_class: Option<String>,
    /// How nodes may mount it.
    pub access_mode: crds::AccessMode,
}

/// Records a storage for an existing volume or bucket, as if it had just been ordered; the reconciler finds
/// the object. For an administrator of the database, with this service's schema as the search path.
///
/// # Errors
/// If there is such a storage, or the specification is of another kind, storage class or access mode.
pub async fn adopt(conn: &mut PgConnection, found: &Adoption) -> anyhow::Result<()> {
    let mut tx = conn.begin().await?;
    ensure!(storage::find_any(&mut tx, found.id).await?.is_none(), "{} has a row", found.id);
    let spec = storage_spec::find_for_use(&mut tx, &found.storage_spec).await?;
    let spec = spec.with_context(|| format!("no storage specification {:?}", found.storage_spec))?;
    let is_volume = spec.kind == StorageKind::Volume;
    ensure!(is_volume == found.volume.is_some(), "{} is for another kind of storage", spec.name);
    if let Some(volume) = &found.volume {
        let access_mode = match spec.access_mode {
            AccessMode::ReadWriteOnce => crds::AccessMode::ReadWriteOnce,
            AccessMode::ReadWriteMany => crds::AccessMode::ReadWriteMany,
        };
        ensure!(
            (&spec.storage_class, access_mode) == (&volume.storage_class, volume.access_mode),
            "{} has another storage class or access mode than the volume",
            spec.name
        );
    }
    let place = found
        .volume
        .as_ref()
        .map(|volume| Place { datacenter: volume.datacenter.clone(), cluster: volume.cluster.clone() });
    let operation = operation::start(&mut tx, found.tenant, found.id, OperationKind::Create).await?;
    let order = Order {
        id: found.id,
        tenant: found.tenant,
        name: &found.name,
        spec: &spec,
        size_gib: found.size_gib,
        place: place.as_ref(),
        operation,
    };
    ensure!(storage::insert(&mut tx, &order).await?, "{} has a storage {:?}", found.tenant, found.name);
    Ok(tx.commit().await?)
}

/// A page of names.
#[derive(Debug, Clone)]
pub struct Names {
    /// The names.
    pub names: Vec<String>,
    /// Position for the next page; none after the last.
    pub next: Option<String>,
}

/// The contents of the object store, read-only.
pub struct Inventory(ObjectStore);

impl Inventory {
    /// The inventory of this object store, whose user needs the capability `metadata=read`, too.
    ///
    /// # Errors
    /// If no client can be made.
    pub fn new(config: ObjectStoreConfig) -> anyhow::Result<Self> {
        Ok(Self(ObjectStore::new(config, service::http_client()?)))
    }

    /// Returns names of users after a position.
    ///
    /// # Errors
    /// If the object store does not answer.
    pub async fn users(&self, after: Option<&str>, limit: u32) -> anyhow::Result<Names> {
        let (names, next) = self.0.users(after, limit).await?;
        Ok(Names { names, next })
    }

    /// Returns the names of the tenant's buckets.
    ///
    /// # Errors
    /// If the object store does not answer.
    pub async fn buckets_of(&self, tenant: TenantId) -> anyhow::Result<Vec<String>> {
        Ok(self.0.buckets_of(&user_of(tenant)).await?)
    }

    /// Returns the access keys of the tenant's credentials.
    ///
    /// # Errors
    /// If the object store does not answer.
    pub async fn credentials_of(&self, tenant: TenantId) -> anyhow::Result<Vec<String>> {
        Ok(self.0.credentials_of(tenant).await?)
    }

    /// Returns the user who owns a bucket, if it exists.
    ///
    /// # Errors
    /// If the object store does not answer.
    pub async fn owner(&self, bucket: &str) -> anyhow::Result<Option<String>> {
        Ok(self.0.bucket(bucket).await?.map(|bucket| bucket.owner))
    }
}
