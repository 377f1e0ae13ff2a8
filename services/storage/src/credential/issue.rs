//! Issuing and revoking access keys. A key is recorded before the object store gets it, so that one whose creation
//! is interrupted is known, and removed by the reconciler.

use api::{ErrorChain, Problem, ProblemType};
use auth::Principal;
use db::Db;
use ids::{StorageId, TenantId};
use sqlx::PgConnection;

use super::store;
use crate::{
    object_store::{KeyPair, ObjectStore, user_of},
    storage::{self, QUEUE, Storage},
};

/// Maximum number of keys of one storage.
const MOST_KEYS: i64 = 50;

/// Records a key that is about to be created, and returns its bucket.
pub(super) async fn reserve(
    conn: &mut PgConnection,
    owner: TenantId,
    id: StorageId,
    access: &str,
    by: &Principal,
) -> Result<Storage, Problem> {
    tenants::check_active(conn, owner).await?;
    let bucket = storage::lock(conn, owner, id).await?.ok_or_else(Problem::not_found)?;
    bucket.check_bucket()?;
    bucket.check_usable()?;
    if store::count(conn, id).await? >= MOST_KEYS {
        return Err(Problem::new(
            ProblemType::TooManyCredentials,
            format!("A storage has at most {MOST_KEYS} credentials."),
        ));
    }
    store::insert(conn, owner, id, access, by).await?;
    Ok(bucket)
}

/// A reserved key.
pub(super) struct Reserved<'a> {
    pub(super) tenant: TenantId,
    pub(super) storage: StorageId,
    pub(super) pair: &'a KeyPair,
    /// The idempotency key of the request.
    pub(super) idempotency_key: &'a str,
}

impl Reserved<'_> {
    /// Creates the key in the object store.
    pub(super) async fn create(&self, db: &Db, objects: &ObjectStore) -> Result<(), Problem> {
        let user = user_of(self.tenant);
        if let Err(error) = objects.put_key(&user, self.pair).await {
            self.cancel(db).await?;
            return Err(error.into());
        }
        let mut tx = db.tenant(self.tenant).await?;
        let active = store::activate(&mut tx, self.tenant, &self.pair.access).await?;
        tx.commit().await?;
        if active {
            return Ok(());
        }
        // the storage was deleted meanwhile, and its reconcile may have missed this key
        if let Err(error) = objects.remove_key(&user, &self.pair.access).await {
            tracing::warn!(storage.id = %self.storage, error = %ErrorChain(&error), "cannot remove a key yet");
        }
        Err(storage::Error::Deleting.into())
    }

    async fn cancel(&self, db: &Db) -> sqlx::Result<()> {
        let mut tx = db.tenant(self.tenant).await?;
        store::mark_removing(&mut tx, self.tenant, self.storage, &self.pair.access).await?;
        store::free_idempotency_key(&mut tx, &self.tenant.to_string(), self.idempotency_key).await?;
        QUEUE.enqueue(&mut tx, &[self.storage]).await?;
        tx.commit().await
    }
}

/// Marks a key for removal by the reconciler.
pub(super) async fn revoke(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: StorageId,
    access: &str,
) -> Result<(), Problem> {
    if !store::mark_removing(conn, tenant, id, access).await? {
        return Err(Problem::not_found());
    }
    Ok(QUEUE.enqueue(conn, &[id]).await?)
}

/// Removes a revoked key at once. If that fails, the reconciler does it.
pub(super) async fn remove(
    db: &Db,
    objects: &ObjectStore,
    tenant: TenantId,
    access: &str,
) -> Result<(), Problem> {
    if let Err(error) = objects.remove_key(&user_of(tenant), access).await {
        tracing::warn!(tenant.id = %tenant, error = %ErrorChain(&error), "cannot remove a key yet");
        return Ok(());
    }
    let mut tx = db.tenant(tenant).await?;
    store::delete(&mut tx, access).await?;
    Ok(tx.commit().await?)
}
