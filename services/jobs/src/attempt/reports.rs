//! The newest reports of progress. Most reports change nothing else: the attempt goes on in the same phase, and nobody is to be told of
//! another tenth of the steps. Such a report goes into the cache, and the replica that got it writes the rows of all of them with one
//! statement after `[progress] store_ms`. Readers take the newer of the row and what the cache has. A cache that is lost shows a report
//! that is as old as that; no state of a job depends on one.

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
use serde::{Deserialize, Serialize};
use service::Workers;
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    progress::Progress,
    report_store::{self, Reporter},
};
use crate::{
    config::Config,
    job::{JobState, ProgressView},
};

/// Life of a report in the cache. Its row is written long before.
const LIFE: Duration = Duration::from_secs(60);
/// Delay of rows while replicas share the cache, and while they do not.
const SHARED_DELAY: Duration = Duration::from_secs(5);
const LOCAL_DELAY: Duration = Duration::from_secs(1);
/// Rounds in which it is tried to write a row that another transaction has locked. That of an ended attempt is gone.
const TRIES: u8 = 3;

/// A report, and the time of its transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) attempt: i32,
    pub(crate) progress: ProgressView,
    pub(crate) at: Timestamp,
}

/// What is asked about a job whose attempt is open.
pub(crate) struct Question {
    pub(crate) tenant: TenantId,
    pub(crate) job: JobId,
    /// Its latest attempt.
    pub(crate) attempt: i32,
    /// What its row says.
    pub(crate) stored: Option<Report>,
}

/// The newest reports. Clones share them.
#[derive(Clone)]
pub(crate) struct Reports(Arc<Inner>);

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
    pub(crate) fn new(cache: &Cache, config: &Config) -> Self {
        let default = if cache.is_shared() { SHARED_DELAY } else { LOCAL_DELAY };
        let delay = config.progress.store_ms.map_or(default, |ms| Duration::from_millis(ms.into()));
        Self(Arc::new(Inner {
            area: cache.area("progress"),
            delay: (!delay.is_zero()).then_some(delay),
            present: config.scheduler.silent() / 2,
            pending: Mutex::default(),
            noted: Notify::new(),
        }))
    }

    /// Takes a report that changes nothing else. Returns the state of the job, and until when the attempt has to leave; none if the
    /// report is to be written.
    pub(super) async fn note(
        &self,
        db: &Db,
        (worker, session): (WorkerId, i64),
        job: JobId,
        progress: Progress,
    ) -> sqlx::Result<Option<(JobState, Option<Timestamp>)>> {
        let Some(delay) = self.0.delay else { return Ok(None) };
        let reporter = Reporter { worker, session, present: self.0.present, longest: delay * 3 };
        let mut tx = db.worker().await?;
        let found = report_store::find(&mut tx, &reporter, job, &progress).await?;
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
    pub(crate) async fn latest(&self, questions: Vec<Question>) -> Vec<Option<Report>> {
        let keys: Vec<String> = questions.iter().map(|asked| key(asked.tenant, asked.job)).collect();
        let known = if self.0.delay.is_some() { self.0.area.get_all(&keys).await } else { Vec::new() };
        let known = known.into_iter().chain(std::iter::repeat_with(|| None));
        let newest = |(asked, known): (Question, Option<Report>)| {
            let of_attempt = |report: &Report| report.attempt == asked.attempt;
            known.filter(of_attempt).into_iter().chain(asked.stored).max_by_key(|report| report.at)
        };
        questions.into_iter().zip(known).map(newest).collect()
    }

    /// Starts the worker `jobs.progress`, which writes rows.
    pub(crate) fn start(&self, db: &Db, workers: &Workers) {
        let Some(delay) = self.0.delay else { return };
        let (reports, db) = (self.clone(), db.clone());
        workers.spawn("jobs.progress", move |stop| {
            let (reports, db) = (reports.clone(), db.clone());
            async move { reports.run(&db, delay, &stop).await }
        });
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
            let written = report_store::write(&mut tx, reports).await?;
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
