//! Limits the open jobs of each tenant, so that none fills the queue. Counted at most once a second in each
//! replica, so a tenant may exceed the limit by the number that the replicas accept in a second.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use ids::TenantId;
use moka::future::Cache;
use records::job::store;
use sqlx::PgConnection;

/// How long a count is used.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum number of tenants whose counts are kept.
const TENANTS: u64 = 10_000;

/// The counts of this replica.
pub struct OpenJobs {
    limit: u32,
    counted: Cache<TenantId, Arc<AtomicU32>>,
}

/// The open jobs of a tenant.
pub(super) struct Open {
    count: Arc<AtomicU32>,
    /// The limit.
    pub(super) limit: u32,
    /// How many more it may submit.
    room: u32,
}

impl OpenJobs {
    /// A tenant may have at most `limit`.
    pub fn new(limit: u32) -> Self {
        Self { limit, counted: Cache::builder().max_capacity(TENANTS).time_to_live(FRESH).build() }
    }

    /// Returns the open jobs of a tenant.
    pub(super) async fn of(&self, conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Open> {
        let count = match self.counted.get(&tenant).await {
            Some(count) => count,
            None => {
                let count = Arc::new(AtomicU32::new(store::count_open(conn, tenant, self.limit).await?));
                self.counted.insert(tenant, Arc::clone(&count)).await;
                count
            }
        };
        let room = self.limit.saturating_sub(count.load(Ordering::Relaxed));
        Ok(Open { count, limit: self.limit, room })
    }
}

impl Open {
    /// Counts a job. False if the tenant may submit no more.
    pub(super) fn take(&mut self) -> bool {
        let has_room = self.room > 0;
        self.room = self.room.saturating_sub(1);
        has_room
    }

    /// Records the number of inserted jobs.
    pub(super) fn add(&self, inserted: usize) {
        self.count.fetch_add(u32::try_from(inserted).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}
