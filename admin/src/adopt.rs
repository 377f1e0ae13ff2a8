//! `adopt-storage`: a volume or bucket that exists without a row becomes a storage of its tenant again. After a restore, these
//! are the storages that were created after the backup. Nothing deletes them meanwhile.

use anyhow::{Context, bail, ensure};
use atelier_storage::{AdoptedVolume, Adoption, Inventory};
use crds::{Clusters, GpuStorage};
use ids::{StorageId, TenantId};
use kube::Api;
use sqlx::PgConnection;

use crate::Config;

/// How a storage is recorded.
#[derive(Debug, Clone)]
pub struct Request {
    /// Id of the storage: the name of its resource or bucket.
    pub id: StorageId,
    /// Name of a storage specification, whose price it gets.
    pub storage_spec: String,
    /// Name for its users; its id if none.
    pub name: Option<String>,
    /// Size of a bucket in GiB. A volume has its own.
    pub size_gib: Option<i64>,
}

/// Records the storage. The storage service then compares it with what exists, as any other.
///
/// # Errors
/// If it does not exist, has a row, or the specification does not fit.
pub async fn adopt(config: &Config, request: &Request) -> anyhow::Result<()> {
    let mut conn = config.database.connect(&config.database.superuser()?).await?;
    let adoption = match find_volume(config, &mut conn, request).await? {
        Some(volume) => volume,
        None => find_bucket(config, request).await?,
    };
    sqlx::query("select set_config('search_path', $1, false)")
        .bind(atelier_storage::NAME)
        .execute(&mut conn)
        .await?;
    atelier_storage::adopt(&mut conn, &adoption).await
}

async fn find_volume(
    config: &Config,
    conn: &mut PgConnection,
    request: &Request,
) -> anyhow::Result<Option<Adoption>> {
    let clusters = Clusters::new(&config.clusters);
    for cluster in config.clusters.keys() {
        let resources: Api<GpuStorage> = Api::all(clusters.client(cluster).await?);
        let Some(found) = resources.get_opt(&request.id.k8s_name()).await? else { continue };
        ensure!(found.metadata.deletion_timestamp.is_none(), "the volume is being deleted");
        return Ok(Some(Adoption {
            id: request.id,
            tenant: TenantId::from_k8s_name(&found.spec.tenant_id)?,
            name: request.name.clone().unwrap_or_else(|| request.id.k8s_name()),
            storage_spec: request.storage_spec.clone(),
            size_gib: found.spec.size_gib,
            volume: Some(AdoptedVolume {
                datacenter: datacenter(conn, cluster).await?,
                cluster: cluster.clone(),
                storage_class: found.spec.storage_class,
                access_mode: found.spec.access_mode,
            }),
        }));
    }
    Ok(None)
}

/// Returns the name of the only datacenter of a cluster; that of the cluster if there are several.
async fn datacenter(conn: &mut PgConnection, cluster: &str) -> sqlx::Result<String> {
    let names: Vec<String> = sqlx::query_scalar("select name from stock.datacenters where cluster = $1")
        .bind(cluster)
        .fetch_all(conn)
        .await?;
    Ok(<[String; 1]>::try_from(names).map_or_else(|_| cluster.to_owned(), |[name]| name))
}

async fn find_bucket(config: &Config, request: &Request) -> anyhow::Result<Adoption> {
    let store = config.object_store.clone();
    let store = store.context("no cluster has this volume, and no object store is configured")?;
    let owner = Inventory::new(store)?.owner(&request.id.k8s_name()).await?;
    let Some(owner) = owner else { bail!("neither a cluster nor the object store has {}", request.id) };
    Ok(Adoption {
        id: request.id,
        tenant: TenantId::from_k8s_name(&owner)?,
        name: request.name.clone().unwrap_or_else(|| request.id.k8s_name()),
        storage_spec: request.storage_spec.clone(),
        size_gib: request.size_gib.context("--size-gib is needed for a bucket")?,
        volume: None,
    })
}
