//! Pools as readers see them: loaded from the database on any replica, for a second.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use db::Db;
use ids::{JobId, PoolId, TenantId};
use jiff::Timestamp;
use jobs_core::{kind::Level, needs::Needs, scheduler::SchedulerConfig};
use moka::future::Cache;
use schedule::{
    Arrivals, Estimate, Event, Explanation, Forecast, Job, Millis, NodeCapacity, Outlook, Pool, SpecId, Used,
};
use sqlx::PgConnection;

use super::{
    closed,
    loaded::LoadedPool,
    rows::{self, Probe, job_key, millis},
    specs, store,
};

/// How long a loaded pool is used.
const FRESH: Duration = Duration::from_secs(1);
/// Pools with more jobs are not simulated for one reader.
const MAX_FORECAST: usize = 2_000;
/// How far ahead a pool is simulated.
const HORIZON: Millis = 24 * 3_600_000;
/// Number of simulations with drawn durations and arrivals, from which ranges of times follow.
const DRAWS: u64 = 8;
/// Pools with more jobs are simulated with median durations only.
const MAX_DRAWN: usize = 500;
/// Maximum number of jobs of all pools from which arrivals are predicted.
const MAX_ARRIVALS: i64 = 2_000;

/// A pool at one moment.
pub struct View {
    pub loaded: LoadedPool,
    arrivals: Arrivals,
    pub forecast: Option<Forecast>,
    pub now: Millis,
}

/// Why a job waits.
pub struct Found {
    pub explanation: Explanation,
    pub outlook: Option<Outlook>,
    /// How long it takes once its model is loaded.
    pub run: Estimate,
    /// Its pool is known not to have the base model that it names.
    pub lacks_model: bool,
}

/// The workers of a pool, the jobs that wait, and the jobs expected to start and end.
pub struct Capacity {
    pub at: Timestamp,
    /// Jobs that wait for a worker.
    pub queued: BTreeMap<Level, u32>,
    pub nodes: Vec<NodeCapacity>,
    /// How many jobs start and end within [`schedule::SOON`]. None if the pool has too many jobs to tell.
    pub soon: Option<BTreeMap<(SpecId, Level), (u32, u32)>>,
    /// Names of specifications.
    pub spec_names: BTreeMap<SpecId, String>,
}

/// The expectation for a job that is not submitted.
pub struct Expected {
    /// None if the pool has too many jobs to tell, or no job of the tenant starts.
    pub outlook: Option<Outlook>,
}

/// The pools that were loaded last.
#[derive(Clone)]
pub struct Views {
    db: Db,
    scheduler: SchedulerConfig,
    clock: fn() -> Timestamp,
    loaded: Cache<PoolId, Option<Arc<View>>>,
}

impl Views {
    pub fn new(db: &Db, scheduler: SchedulerConfig, clock: fn() -> Timestamp) -> Self {
        let loaded = Cache::builder().max_capacity(64).time_to_live(FRESH).build();
        Self { db: db.clone(), scheduler, clock, loaded }
    }

    /// Returns why a job waits; none if it does not.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn explain(&self, pool: PoolId, job: JobId) -> Result<Option<Found>, Arc<sqlx::Error>> {
        let found = self.view(pool).await?.and_then(|view| view.explain(job));
        if found.is_some() {
            return Ok(found);
        }
        // the view may be older than the job
        self.loaded.invalidate(&pool).await;
        Ok(self.view(pool).await?.and_then(|view| view.explain(job)))
    }

    /// Returns the expectation for a job if it was submitted now; none if the pool is gone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn expect(&self, pool: PoolId, probe: Probe) -> Result<Option<Expected>, Arc<sqlx::Error>> {
        let Some(view) = self.view(pool).await? else { return Ok(None) };
        in_background(move || view.expect(&probe)).await.map_err(Arc::new)
    }

    /// Returns when a job that waits in a pool would start in another one or with another level, if no more
    /// jobs arrive; none if there is no forecast.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn start_elsewhere(
        &self,
        job: &jobs_core::job::Job,
        other: PoolId,
        level: Level,
    ) -> Result<Option<Timestamp>, Arc<sqlx::Error>> {
        let needs = job.needs.clone();
        let waiting = self.view(job.pool).await?.and_then(|view| {
            let entry = view.loaded.pool.job(job_key(job.id))?;
            Some(entry.job.clone())
        });
        let (Some(waiting), Some(view)) = (waiting, self.view(other).await?) else { return Ok(None) };
        in_background(move || view.start_of(&waiting, needs.as_ref(), level)).await.map_err(Arc::new)
    }

    /// Returns the capacity of a pool; none if it is gone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn capacity(&self, pool: PoolId) -> Result<Option<Capacity>, Arc<sqlx::Error>> {
        Ok(self.view(pool).await?.map(|view| view.capacity()))
    }

    /// Returns a tenant's use of a pool; none if the pool is gone.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn used(&self, pool: PoolId, tenant: TenantId) -> Result<Option<Used>, Arc<sqlx::Error>> {
        Ok(self.view(pool).await?.map(|view| view.loaded.pool.used_by(rows::tenant_key(tenant))))
    }

    pub async fn view(&self, pool: PoolId) -> Result<Option<Arc<View>>, Arc<sqlx::Error>> {
        self.loaded.try_get_with(pool, self.load(pool)).await
    }

    /// The order of jobs depends on those of all tenants: rows that the caller must not see, of which only
    /// counts and times are shown.
    async fn load(&self, pool: PoolId) -> sqlx::Result<Option<Arc<View>>> {
        let now = (self.clock)();
        let mut tx = self.db.worker().await?;
        let Some(mut loaded) = LoadedPool::load(&mut tx, pool, now, Millis::MAX).await? else {
            return Ok(None);
        };
        let now = millis(now);
        let closed = closed::find(&mut tx, pool, &self.scheduler).await?;
        loaded.cordon(closed.workers, now).map_err(|error| sqlx::Error::Decode(error.into()))?;
        let arrivals = arrivals(&mut tx, &loaded, now).await?;
        drop(tx);
        let view = in_background(move || {
            let forecast = forecast(&loaded, &loaded.pool, &arrivals, now);
            Arc::new(View { loaded, arrivals, forecast, now })
        });
        view.await.map(Some)
    }
}

/// Runs long work outside the async runtime. Fails if the process ends.
pub async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> sqlx::Result<T> {
    let work = tokio::task::spawn_blocking(work);
    work.await.map_err(|error| sqlx::Error::Io(std::io::Error::other(error)))
}

/// Returns the recent arrivals of a pool. While many jobs arrive, the window is shorter.
async fn arrivals(conn: &mut PgConnection, loaded: &LoadedPool, now: Millis) -> sqlx::Result<Arrivals> {
    let least = rows::first_id(now.saturating_sub(Arrivals::WINDOW));
    let after = store::newest_jobs(conn, least, MAX_ARRIVALS).await?.unwrap_or(least);
    let found = store::jobs_after(conn, loaded.id, after).await?;
    let jobs = found.iter().map(|row| rows::job(row, &loaded.specs, &loaded.estimates));
    Ok(Arrivals::new(jobs, rows::time_of(after), now))
}

/// Runs a pool forward. None if it has too many jobs.
fn forecast(loaded: &LoadedPool, pool: &Pool, arrivals: &Arrivals, now: Millis) -> Option<Forecast> {
    let draws = if loaded.jobs <= MAX_DRAWN { DRAWS } else { 0 };
    (loaded.jobs <= MAX_FORECAST).then(|| pool.forecast(now, HORIZON, draws, 0, arrivals))
}

impl View {
    fn expect(&self, probe: &Probe) -> Option<Expected> {
        let job = rows::probe(probe, &self.loaded.specs, &self.loaded.estimates, self.now);
        let key = job.id;
        let mut pool = self.loaded.pool.clone();
        pool.apply(Event::Submitted(job), self.now).ok()?;
        let forecast = forecast(&self.loaded, &pool, &self.arrivals, self.now);
        let outlook = forecast.and_then(|found| found.jobs.get(&key).copied());
        Some(Expected { outlook })
    }

    /// The expected course of this hypothetical pool, if all jobs take their median time. None if it has too
    /// many jobs.
    pub fn run_forward(&self, pool: &Pool) -> Option<Forecast> {
        (self.loaded.jobs <= MAX_FORECAST).then(|| pool.forecast(self.now, HORIZON, 0, 0, &self.arrivals))
    }

    /// Whether a job that waits is not expected to start within `time`.
    pub fn waits_for(&self, id: JobId, time: Millis) -> bool {
        let start = |forecast: &schedule::Forecast| Some(forecast.jobs.get(&job_key(id))?.start?.p50);
        self.forecast.as_ref().and_then(start).is_none_or(|start| start.saturating_sub(self.now) >= time)
    }

    /// When a job starts in this hypothetical pool. None if that is more than a day ahead, or not known.
    pub fn start_in(&self, pool: &Pool, job: &Job) -> Option<Millis> {
        let forecast = self.run_forward(pool)?;
        Some(forecast.jobs.get(&job.id)?.start?.p50)
    }

    fn start_of(&self, waiting: &Job, needs: Option<&Needs>, level: Level) -> Option<Timestamp> {
        let job = rows::moved(waiting, level, self.loaded.specs.accepted(needs, None), self.now);
        let key = job.id;
        let mut pool = self.loaded.pool.clone();
        pool.apply(Event::Submitted(job), self.now).ok()?;
        Some(rows::timestamp(self.run_forward(&pool)?.jobs.get(&key)?.start?.p50))
    }

    fn capacity(&self) -> Capacity {
        let specs = &self.loaded.specs;
        let of_gpu_specs = |mut node: NodeCapacity| {
            for (spec, counts) in std::mem::take(&mut node.specs) {
                *node.specs.entry(specs.plain(spec)).or_default() += counts;
            }
            node
        };
        let queued = self.loaded.pool.queued();
        let soon = self.forecast.as_ref().map(|forecast| {
            let mut soon: BTreeMap<_, (u32, u32)> = BTreeMap::new();
            for ((spec, level), starts) in &forecast.starts {
                soon.entry((specs.plain(*spec), rows::level_of(*level))).or_default().0 += starts;
            }
            for ((spec, level), ends) in &forecast.ends {
                soon.entry((specs.plain(*spec), rows::level_of(*level))).or_default().1 += ends;
            }
            soon
        });
        Capacity {
            at: rows::timestamp(self.now),
            queued: queued.into_iter().map(|(level, jobs)| (rows::level_of(level), jobs)).collect(),
            nodes: self.loaded.pool.capacity().into_values().map(of_gpu_specs).collect(),
            soon,
            spec_names: specs.names(),
        }
    }

    fn explain(&self, job: JobId) -> Option<Found> {
        let key = job_key(job);
        let explanation = self.loaded.pool.explain(key, self.now)?;
        let outlook = self.forecast.as_ref().and_then(|forecast| forecast.jobs.get(&key)).copied();
        let shape = &self.loaded.pool.job(key)?.job.shape;
        let lacks_model = specs::lacks_model(&shape.specs);
        Some(Found { explanation, outlook, run: shape.run, lacks_model })
    }
}
