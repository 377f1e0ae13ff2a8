//! Pools as readers see them: loaded from the database on any replica, for a second.

use std::{sync::Arc, time::Duration};

use db::Db;
use ids::{JobId, PoolId};
use jiff::Timestamp;
use moka::future::Cache;

use super::{
    rows::{job_key, millis},
    world::World,
};
use crate::schedule::{Explanation, Forecast, Millis, Outlook, SpecId};

/// How long a loaded pool is used.
const FRESH: Duration = Duration::from_secs(1);
/// Pools with more jobs are not run forward for one reader.
const MAX_FORECAST: usize = 2_000;
/// How far a pool is run forward.
const HORIZON: Millis = 24 * 3_600_000;

/// A pool at one moment.
struct View {
    world: World,
    forecast: Option<Forecast>,
    now: Millis,
}

/// Why a job waits.
pub(crate) struct Found {
    pub(crate) explanation: Explanation,
    pub(crate) outlook: Option<Outlook>,
    /// Names of specifications.
    pub(crate) spec_names: std::collections::BTreeMap<SpecId, String>,
}

/// The pools that were loaded last.
#[derive(Clone)]
pub(crate) struct Views {
    db: Db,
    clock: fn() -> Timestamp,
    loaded: Cache<PoolId, Option<Arc<View>>>,
}

impl Views {
    pub(crate) fn new(db: &Db, clock: fn() -> Timestamp) -> Self {
        let loaded = Cache::builder().max_capacity(64).time_to_live(FRESH).build();
        Self { db: db.clone(), clock, loaded }
    }

    /// Returns why a job waits; none if it does not.
    ///
    /// # Errors
    /// If the database fails.
    pub(crate) async fn explain(&self, pool: PoolId, job: JobId) -> Result<Option<Found>, Arc<sqlx::Error>> {
        let found = self.view(pool).await?.and_then(|view| view.explain(job));
        if found.is_some() {
            return Ok(found);
        }
        // the view may be older than the job
        self.loaded.invalidate(&pool).await;
        Ok(self.view(pool).await?.and_then(|view| view.explain(job)))
    }

    async fn view(&self, pool: PoolId) -> Result<Option<Arc<View>>, Arc<sqlx::Error>> {
        self.loaded.try_get_with(pool, self.load(pool)).await
    }

    /// The order of jobs follows from those of all tenants: rows that the caller must not see, of which only counts and times
    /// are shown.
    async fn load(&self, pool: PoolId) -> sqlx::Result<Option<Arc<View>>> {
        let now = (self.clock)();
        let mut tx = self.db.worker().await?;
        let world = World::load(&mut tx, pool, now, Millis::MAX).await?;
        let now = millis(now);
        Ok(world.map(|world| {
            let forecast = (world.jobs <= MAX_FORECAST).then(|| world.pool.forecast(now, HORIZON, 0, 0));
            Arc::new(View { world, forecast, now })
        }))
    }
}

impl View {
    fn explain(&self, job: JobId) -> Option<Found> {
        let key = job_key(job);
        let explanation = self.world.pool.explain(key, self.now)?;
        let outlook = self.forecast.as_ref().and_then(|forecast| forecast.jobs.get(&key)).copied();
        Some(Found { explanation, outlook, spec_names: self.world.spec_names.clone() })
    }
}
