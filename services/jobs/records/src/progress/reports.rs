//! The newest reports of progress. Most reports change nothing else: the attempt continues in the same phase,
//! and no tenth of the steps has to be published. Such a report goes into the cache, and the replica that got
//! it writes the rows of all of them with one statement after `[progress] store_ms`. Readers take the newer
//! of the row and the cached report. If the cache is lost, readers see a report that is older by up to that
//! time; no state of a job depends on one.

use std::{
    collections::{HashMap, hash_map::Entry},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cache::{Area, Cache};
use db::Db;
use ids::{JobId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    progress::{Progress, ProgressView, Question, Report},
    status::JobState,
};
use service::{Duty, Task};
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    ProgressConfig,
    store::{self, Reporter},
};

/// Lifetime of a report in the cache. Its row is written long before that.
const LIFE: Duration = Duration::from_secs(60);
/// Delay of rows when replicas share the cache, and when they do not.
const SHARED_DELAY: Duration = Duration::from_secs(5);
const LOCAL_DELAY: Duration = Duration::from_secs(1);
/// Rounds in which writing a row is tried while another transaction has locked it. The row of an ended
/// attempt is gone.
const TRIES: u8 = 3;

/// The newest reports. Clones share them.
#[derive(Clone)]
pub struct Reports(Arc<Inner>);

struct Inner {
    area: Area,
    /// None: each report is written at once.
    delay: Option<Duration>,
    /// How long a worker counts as present after it has been seen.
    present: Duration,
    /// Reports whose rows are to be written.
    pending: Mutex<HashMap<JobId, Pending>>,
    noted: Notify,
}

struct Pending {
    report: Report,
    tries: u8,
}

impl Reports {
    /// `silent`: after this time a worker is silent.
    pub fn new(cache: &Cache, config: ProgressConfig, silent: Duration) -> Self {
        let default = if cache.is_shared() { SHARED_DELAY } else { LOCAL_DELAY };
        let delay = config.store_ms.map_or(default, |ms| Duration::from_millis(ms.into()));
        Self(Arc::new(Inner {
            area: cache.area("progress"),
            delay: (!delay.is_zero()).then_some(delay),
            present: silent / 2,
            pending: Mutex::default(),
            noted: Notify::new(),
        }))
    }

    /// Records a report that changes nothing else. Returns the state of the job, and the time by which the
    /// attempt must leave; none if the report must be written at once.
    pub async fn note(
        &self,
        db: &Db,
        (worker, session): (WorkerId, i64),
        job: JobId,
        progress: Progress,
    ) -> sqlx::Result<Option<(JobState, Option<Timestamp>)>> {
        let Some(delay) = self.0.delay else { return Ok(None) };
        let reporter = Reporter { worker, session, present: self.0.present, longest: delay * 3 };
        let mut tx = db.worker().await?;
        let found = store::find(&mut tx, &reporter, job, &progress).await?;
        drop(tx);
        let Some(found) = found else { return Ok(None) };
        let Progress { attempt, phase, step, steps } = progress;
        let report = Report { attempt, progress: ProgressView { phase, step, steps }, at: found.at };
        if !self.0.area.put(&key(found.tenant, job), &report, LIFE).await {
            return Ok(None);
        }
        self.add(job, Pending { report, tries: 0 });
        self.0.noted.notify_one();
        Ok(Some((found.state, found.leave_by)))
    }

    /// Returns the newest report of each job's latest attempt.
    pub async fn latest(&self, questions: Vec<Question>) -> Vec<Option<Report>> {
        let keys: Vec<String> = questions.iter().map(|asked| key(asked.tenant, asked.job)).collect();
        let known = if self.0.delay.is_some() { self.0.area.get_all(&keys).await } else { Vec::new() };
        let known = known.into_iter().chain(std::iter::repeat_with(|| None));
        let newest = |(asked, known): (Question, Option<Report>)| {
            let of_attempt = |report: &Report| report.attempt == asked.attempt;
            known.filter(of_attempt).into_iter().chain(asked.stored).max_by_key(|report| report.at)
        };
        questions.into_iter().zip(known).map(newest).collect()
    }

    /// The task that writes rows.
    pub fn task(&self, db: &Db) -> Option<Task> {
        let (delay, parts) = (self.0.delay?, (self.clone(), db.clone()));
        Some(Task::until_stop("progress", Duty::Reconcile, &parts, move |(reports, db), stop| async move {
            reports.run(&db, delay, &stop).await
        }))
    }

    async fn run(&self, db: &Db, delay: Duration, stop: &CancellationToken) -> anyhow::Result<()> {
        let pause = async || {
            self.0.noted.notified().await;
            sleep(delay).await;
        };
        loop {
            let is_stopping = stop.run_until_cancelled(pause()).await.is_none();
            self.write(db).await?;
            if is_stopping {
                return Ok(());
            }
        }
    }

    /// Writes the rows of all pending reports.
    async fn write(&self, db: &Db) -> sqlx::Result<()> {
        let pending = mem::take(&mut *self.pending());
        if pending.is_empty() {
            return Ok(());
        }
        let write = async {
            let mut tx = db.worker().await?;
            let reports = pending.iter().map(|(job, pending)| (*job, &pending.report));
            let written = store::write(&mut tx, reports).await?;
            tx.commit().await?;
            Ok(written)
        };
        let written = write.await;
        for (job, Pending { report, tries }) in pending {
            let tries = match &written {
                Ok(written) if written.contains(&job) || tries + 1 == TRIES => continue,
                Ok(_) => tries + 1,
                Err(_) => tries,
            };
            self.add(job, Pending { report, tries });
            self.0.noted.notify_one();
        }
        written.map(drop)
    }

    /// Adds a report, unless there is a newer one.
    fn add(&self, job: JobId, pending: Pending) {
        match self.pending().entry(job) {
            Entry::Occupied(known) if known.get().report.at > pending.report.at => {}
            entry => {
                entry.insert_entry(pending);
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<JobId, Pending>> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(tenant: TenantId, job: JobId) -> String {
    format!("{tenant}:{job}")
}
