//! Where objects lie until they are delivered.

use ids::StorageId;

use super::store;
use crate::{
    error::Error,
    object_store::{ObjectStore, Staging},
    state::AppState,
};

/// Opens the bucket for objects that are to be delivered.
pub(super) async fn open(state: &AppState) -> Result<(&ObjectStore, Staging), Error> {
    let objects = state.object_store.as_ref().ok_or(Error::NoObjectStore)?;
    let mut tx = state.db.worker().await?;
    let name = store::staging(&mut tx).await?;
    tx.commit().await?;
    Ok((objects, objects.open_staging(&name).await?))
}

/// Name of an object that is to be delivered to a bucket.
pub(super) fn name(bucket: StorageId, object: &str) -> String {
    format!("{bucket}/{object}")
}
