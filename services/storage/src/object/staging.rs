//! The place of objects until they are delivered.

use db::Db;
use ids::StorageId;

use super::{error::Error, store};
use crate::object_store::{ObjectStore, Staging};

/// Opens the bucket for objects to deliver.
pub(super) async fn open(db: &Db, objects: &ObjectStore) -> Result<Staging, Error> {
    let mut tx = db.worker().await?;
    let name = store::staging(&mut tx).await?;
    tx.commit().await?;
    Ok(objects.open_staging(&name).await?)
}

/// Name of an object to deliver to a bucket.
pub(super) fn name(bucket: StorageId, object: &str) -> String {
    format!("{bucket}/{object}")
}
