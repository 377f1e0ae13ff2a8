//! Releases that arrive together.

use std::sync::Arc;

use batch::BatchWork;
use db::Db;
use ids::InstanceId;
use sqlx::PgConnection;

use super::{
    claims::{MAX_RETRIES, is_collision},
    store::{self, Release},
};
use crate::queue;

/// Releases units, ends waits, and gives available units to waiting instances.
async fn release(conn: &mut PgConnection, releases: &[Release]) -> sqlx::Result<()> {
    let instances: Vec<InstanceId> = releases.iter().map(|release| release.instance).collect();
    let attempts: Vec<Option<i64>> = releases.iter().map(|release| release.attempt).collect();
    let waiting = queue::store::lock_for_release(&mut *conn, &instances, &attempts).await?;
    let mut available = store::release(&mut *conn, releases).await?;
    if !waiting.is_empty() {
        let left = queue::store::leave(&mut *conn, &instances, &attempts, &available).await?;
        // an instance that no longer waits has just been given a unit, which goes to the next
        let granted: Vec<Release> = waiting
            .into_iter()
            .filter(|instance| !left.contains(instance))
            .map(|instance| Release { instance, claimed_at: None, attempt: None })
            .collect();
        if !granted.is_empty() {
            available.extend(store::release(&mut *conn, &granted).await?);
        }
    }
    queue::store::serve(conn, &available).await.map(drop)
}

/// Carries out batches of releases.
pub(super) struct Releases {
    pub(super) db: Db,
}

impl BatchWork for Releases {
    type Key = ();
    type Item = Release;
    type Answer = Result<(), Arc<sqlx::Error>>;

    async fn run(&self, (): &(), releases: Vec<Release>) -> Vec<Self::Answer> {
        let result = self.release(&releases).await.map_err(Arc::new);
        releases.iter().map(|_| result.clone()).collect()
    }
}

impl Releases {
    async fn release(&self, releases: &[Release]) -> sqlx::Result<()> {
        let mut retries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            match release(&mut tx, releases).await {
                Ok(()) => return tx.commit().await,
                Err(error) if retries < MAX_RETRIES && is_collision(&error) => retries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}
