//! Closes connections of a pool that are not needed. sqlx uses the connection that has been idle longest, so
//! without this a few transactions a minute would keep open all connections of a burst, each of which costs
//! Postgres some memory.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use sqlx::{PgPool, Postgres, pool::PoolOptions};
use tokio::time::Instant;

/// Idle connections that are kept.
const SPARE: usize = 2;
/// How long further connections are kept after fewer were needed.
const KEPT: Duration = Duration::from_secs(10);

/// When the connections of a pool were last needed.
#[derive(Debug)]
pub(crate) struct Needs {
    /// Owned here, not by the pool's own options, which would keep it forever.
    pool: OnceLock<PgPool>,
    all_at: Mutex<Instant>,
}

impl Needs {
    /// Opens a pool whose connections are closed when they are surplus, as long as the result exists.
    pub(crate) fn watch(
        options: PoolOptions<Postgres>,
        open: impl FnOnce(PoolOptions<Postgres>) -> PgPool,
    ) -> (PgPool, Arc<Self>) {
        let needs = Arc::new(Self { pool: OnceLock::new(), all_at: Mutex::new(Instant::now()) });
        let watched: Weak<Self> = Arc::downgrade(&needs);
        let pool = open(options.after_release(move |_, _| {
            let keeps = watched.upgrade().is_none_or(|needs| needs.keeps());
            Box::pin(std::future::ready(Ok(keeps)))
        }));
        let _ = needs.pool.set(pool.clone());
        (pool, needs)
    }

    /// Whether to keep a connection that is released.
    fn keeps(&self) -> bool {
        let others = self.pool.get().map_or(0, PgPool::num_idle);
        let mut all_at = self.all_at.lock().unwrap_or_else(PoisonError::into_inner);
        if others < SPARE {
            *all_at = Instant::now();
        }
        all_at.elapsed() <= KEPT
    }
}
