//! Changes that tenants request: create, rename, enlarge, delete. Each runs in the transaction of its request.

use api::{Checks, Problem};
use ids::{StorageId, TenantId};
use sqlx::{PgConnection, error::ErrorKind};
use storage_api::NewStorage;

use super::{
    error::Error,
    model::{Storage, size},
    place::Place,
    store::{self, Order},
    view::StorageChange,
};
use crate::{
    config::Config,
    operation::{self, Kind as OperationKind},
    quota::{self, Usage},
    storage_spec,
};

/// Name of the bucket for outputs of jobs.
const OUTPUT_NAME: &str = "job-outputs";
/// Its size, if the specification has it.
const OUTPUT_GIB: i64 = 10;

/// The effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    /// The change is complete.
    Done,
    /// The storage's operation completes it.
    Started,
}

/// Creates a storage that the reconciler provides.
pub(super) async fn create(
    conn: &mut PgConnection,
    config: &Config,
    owner: TenantId,
    new: &NewStorage,
) -> Result<StorageId, Problem> {
    check_name(&new.name)?;
    tenants::check_active(conn, owner).await?;
    let spec = storage_spec::find_for_use(conn, &new.storage_spec).await?.ok_or_else(|| {
        Error::invalid_field("/storage_spec", "no storage specification has this name or id")
    })?;
    spec.check_active()?;
    let size_gib = size(new.size_gib, &spec)?;
    let place = Place::choose(config, spec.kind, new.datacenter.as_deref())?;
    quota::check(conn, &config.limits, owner, Usage { storages: 1, gib: size_gib }).await?;
    let id = StorageId::new();
    let operation = operation::start(conn, owner, id, OperationKind::Create).await?;
    let order =
        Order { id, tenant: owner, name: &new.name, spec: &spec, size_gib, place: place.as_ref(), operation };
    if store::insert(conn, &order).await? { Ok(id) } else { Err(Error::NameTaken.into()) }
}

/// Id of the bucket for outputs of the tenant's jobs: a tenant has one at most.
pub(crate) fn output_bucket_id(owner: TenantId) -> StorageId {
    StorageId::derived(&["output bucket", &owner.to_string()])
}

/// Creates the bucket for outputs of the tenant's jobs, of the cheapest specification. False if it has been created
/// meanwhile.
pub(crate) async fn create_output_bucket(
    conn: &mut PgConnection,
    config: &Config,
    owner: TenantId,
) -> Result<bool, Problem> {
    tenants::check_active(conn, owner).await?;
    let spec = storage_spec::find_cheapest_bucket(conn).await?.ok_or(Error::NoBucketSpec)?;
    let size_gib = OUTPUT_GIB.clamp(spec.min_size_gib, spec.max_size_gib);
    let id = output_bucket_id(owner);
    // only one request of the tenant at a time gets past this
    let quota = quota::check(conn, &config.limits, owner, Usage { storages: 1, gib: size_gib }).await;
    if store::find(conn, owner, id).await?.is_some() {
        return Ok(false);
    }
    quota?;
    let operation = operation::start(conn, owner, id, OperationKind::Create).await?;
    // the tenant may have another storage of this name
    let suffix = id.uuid().simple().to_string();
    for name in [OUTPUT_NAME, &format!("{OUTPUT_NAME}-{}", &suffix[..8])] {
        let order = Order { id, tenant: owner, name, spec: &spec, size_gib, place: None, operation };
        if store::insert(conn, &order).await? {
            return Ok(true);
        }
    }
    Err(Error::NameTaken.into())
}

/// Renames a locked storage, and makes it grow.
pub(super) async fn update(
    conn: &mut PgConnection,
    config: &Config,
    storage: &Storage,
    change: &StorageChange,
) -> Result<Changed, Problem> {
    storage.check_changeable()?;
    if let Some(name) = &change.name {
        check_name(name)?;
        store::rename(conn, storage.id, name).await.map_err(name_taken)?;
    }
    match change.size_gib {
        Some(size_gib) if size_gib != storage.size_gib => {
            tenants::check_active(conn, storage.tenant).await?;
            let spec = storage_spec::find(conn, storage.spec_id).await?.ok_or_else(Problem::not_found)?;
            storage.check_growth(size_gib, &spec)?;
            let added = Usage { storages: 0, gib: size_gib - storage.size_gib };
            quota::check(conn, &config.limits, storage.tenant, added).await?;
            let operation =
                operation::supersede(conn, storage.tenant, storage.id, OperationKind::Resize).await?;
            store::resize(conn, storage.id, size_gib, operation).await?;
            Ok(Changed::Started)
        }
        _ => Ok(Changed::Done),
    }
}

/// Marks a storage for deletion. Does nothing if it is marked already.
pub(super) async fn delete(conn: &mut PgConnection, tenant: TenantId, id: StorageId) -> Result<(), Problem> {
    let storage = store::lock(conn, tenant, id).await?.ok_or_else(Problem::not_found)?;
    if storage.is_deleting() {
        return Ok(());
    }
    Storage::check_unused(store::instances(conn, tenant, id).await?)?;
    let operation = operation::supersede(conn, tenant, id, OperationKind::Delete).await?;
    Ok(store::mark_deleting(conn, id, operation).await?)
}

/// Marks up to `limit` of the tenant's storages that no instance uses for deletion.
pub(crate) async fn delete_unused(conn: &mut PgConnection, tenant: TenantId, limit: i64) -> sqlx::Result<()> {
    for id in store::lock_unused(conn, tenant, limit).await? {
        let operation = operation::supersede(conn, tenant, id, OperationKind::Delete).await?;
        store::mark_deleting(conn, id, operation).await?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), Problem> {
    let mut checks = Checks::default();
    checks.display_name("/name", name, 100);
    Ok(checks.finish()?)
}

fn name_taken(error: sqlx::Error) -> Problem {
    match &error {
        sqlx::Error::Database(cause) if cause.kind() == ErrorKind::UniqueViolation => Error::NameTaken.into(),
        _ => error.into(),
    }
}
