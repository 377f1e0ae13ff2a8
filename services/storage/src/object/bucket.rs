//! A bucket that another service uses for its tenant.

use db::Db;
use ids::{StorageId, TenantId};

use super::error::Error;
use crate::{
    object_store::{KeyPair, ObjectStore},
    storage,
};

/// A bucket that can be used, with the platform's key.
pub(super) struct Bucket<'s> {
    pub(super) objects: &'s ObjectStore,
    pub(super) key: KeyPair,
    pub(super) name: String,
}

/// Opens a bucket of an active tenant.
///
/// # Errors
/// If the tenant has no such bucket, or it cannot be used.
pub(super) async fn open<'s>(
    db: &Db,
    objects: &'s ObjectStore,
    owner: TenantId,
    id: StorageId,
) -> Result<Bucket<'s>, Error> {
    let mut tx = db.tenant(owner).await?;
    let storage = storage::find(&mut tx, owner, id).await?.ok_or(Error::NotFound)?;
    tenants::check_active(&mut tx, owner).await?;
    tx.commit().await?;
    storage.check_bucket()?;
    storage.check_usable()?;
    let key = objects.platform_key(owner).await?.ok_or(Error::NotFound)?;
    Ok(Bucket { objects, key, name: storage.object_name() })
}
