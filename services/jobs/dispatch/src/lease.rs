//! The lease under which this process leads a pool, and the transactions that its epoch fences.

use db::Tx;
use ids::PoolId;

use super::{Parts, store};

/// A pool that this process leads.
pub(super) struct Leader<'a> {
    pub(super) parts: &'a Parts,
    pub(super) pool: PoolId,
    pub(super) epoch: i64,
}

impl Leader<'_> {
    /// Extends the lease. False if there is a later leader.
    pub(super) async fn renew(&self) -> sqlx::Result<bool> {
        let mut tx = self.parts.db.worker().await?;
        let held = store::renew(&mut tx, self.pool, self.epoch, self.parts.scheduler.lease()).await?;
        tx.commit().await?;
        Ok(held)
    }

    /// Ends the lease.
    pub(super) async fn release(&self) -> anyhow::Result<()> {
        let mut tx = self.parts.db.worker().await?;
        store::release(&mut tx, self.pool, self.epoch).await?;
        Ok(tx.commit().await?)
    }

    /// Begins a transaction that commits only before those of any later leader. None if there is a later
    /// leader.
    pub(super) async fn fenced(&self) -> sqlx::Result<Option<Tx>> {
        let mut tx = self.parts.db.worker().await?;
        Ok(store::fence(&mut tx, self.pool, self.epoch).await?.then_some(tx))
    }
}
