//! A bucket in which another service works for its tenant.

use ids::{StorageId, TenantId};

use crate::{
    error::Error,
    object_store::{self, Denial, KeyPair, ObjectStore},
    state::AppState,
    storage,
    storage_spec::Kind,
    tenant,
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
pub(super) async fn open(state: &AppState, owner: TenantId, id: StorageId) -> Result<Bucket<'_>, Error> {
    let objects = state.object_store.as_ref().ok_or(Error::NoObjectStore)?;
    let mut tx = state.db.tenant(owner).await?;
    let storage = storage::find(&mut tx, owner, id).await?.ok_or(Error::NotFound)?;
    tenant::check_active(&mut tx, owner).await?;
    tx.commit().await?;
    if storage.kind != Kind::Bucket {
        return Err(Error::NotABucket);
    }
    storage.check_usable()?;
    let key = objects.platform_key(owner).await?.ok_or(Error::NotFound)?;
    Ok(Bucket { objects, key, name: storage.object_name() })
}

/// The error of a call for a bucket. That it is gone, or that a policy closes it, lasts until its tenant does something about it.
pub(super) fn refused(error: object_store::Error) -> Error {
    match error.denial() {
        Some(Denial::Missing) => Error::NotAvailable("gone from the object store"),
        Some(Denial::Full | Denial::Refused) => Error::NotAvailable("closed by a policy of the bucket"),
        None => error.into(),
    }
}
