//! Which jobs with open streams have changed, read once per replica in one query.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use db::Db;
use ids::JobId;
use service::Workers;
use tokio::sync::{Notify, watch};

use super::store;
use crate::{
    attempt::{Question, Report, Reports},
    job::ProgressView,
    rest::Rest,
};

/// How often jobs with open streams are read.
const LOOK: Duration = Duration::from_millis(200);

/// How a job was when it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// Number of its latest event; 0 if it has not been read.
    pub(super) generation: i64,
    pub(super) progress: Option<Report>,
}

/// The jobs with open streams in this replica. Clones share them.
#[derive(Clone)]
pub(crate) struct Watches(Arc<Inner>);

struct Inner {
    db: Db,
    rest: Arc<Rest>,
    reports: Reports,
    jobs: Mutex<HashMap<JobId, watch::Sender<Seen>>>,
    /// The first stream was opened.
    opened: Notify,
}

impl Watches {
    pub(crate) fn new(db: &Db, rest: &Arc<Rest>, reports: &Reports) -> Self {
        Self(Arc::new(Inner {
            db: db.clone(),
            rest: Arc::clone(rest),
            reports: reports.clone(),
            jobs: Mutex::default(),
            opened: Notify::new(),
        }))
    }

    /// Starts the worker `jobs.events`.
    pub(crate) fn start(&self, workers: &Workers) {
        let watches = self.clone();
        workers.spawn("jobs.events", move |stop| {
            let watches = watches.clone();
            async move { stop.run_until_cancelled(watches.run()).await.unwrap_or(Ok(())) }
        });
    }

    async fn run(&self) -> anyhow::Result<()> {
        loop {
            let jobs: Vec<JobId> = self.jobs().keys().copied().collect();
            if jobs.is_empty() {
                self.0.opened.notified().await;
                continue;
            }
            let mut tx = self.0.db.worker().await?;
            let read = store::positions(&mut tx, &jobs).await?;
            drop(tx);
            self.publish(&jobs, self.seen(read).await);
            tokio::select! {
                () = self.0.rest.pause(LOOK) => {}
                // another one, which has not been read
                () = self.0.opened.notified() => {}
            }
        }
    }

    /// Adds the newest reports to what was read.
    async fn seen(&self, read: Vec<store::Position>) -> HashMap<JobId, Seen> {
        let (open, others): (Vec<_>, Vec<_>) = read.into_iter().partition(|job| job.is_with_worker);
        let latest = self.0.reports.latest(open.iter().map(question).collect()).await;
        let open = open.into_iter().zip(latest);
        open.chain(others.into_iter().map(|job| (job, None)))
            .map(|(job, progress)| (job.job, Seen { generation: job.generation, progress }))
            .collect()
    }

    /// Tells the streams of these jobs what was found. Those of a job that is gone end.
    fn publish(&self, asked: &[JobId], mut found: HashMap<JobId, Seen>) {
        let mut jobs = self.jobs();
        for id in asked {
            match (found.remove(id), jobs.get(id)) {
                (Some(seen), Some(sender)) => {
                    sender.send_if_modified(|known| {
                        let is_new = *known != seen;
                        *known = seen;
                        is_new
                    });
                }
                (None, _) => drop(jobs.remove(id)),
                (Some(_), None) => {}
            }
        }
    }

    /// Watches a job until the result is dropped.
    pub(super) fn subscribe(&self, job: JobId) -> Subscription {
        let mut jobs = self.jobs();
        let sender = jobs.entry(job).or_insert_with(|| watch::Sender::new(Seen::default()));
        let seen = Some(sender.subscribe());
        drop(jobs);
        self.0.opened.notify_one();
        Subscription { watches: self.clone(), job, seen }
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<JobId, watch::Sender<Seen>>> {
        self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(job: &store::Position) -> Question {
    let row = job.phase.zip(job.step).zip(job.steps.zip(job.updated_at));
    let stored = row.map(|((phase, step), (steps, at))| Report {
        attempt: job.attempt,
        progress: ProgressView { phase, step, steps },
        at: at.to_jiff(),
    });
    Question { tenant: job.tenant, job: job.job, attempt: job.attempt, stored }
}

/// A watched job.
pub(super) struct Subscription {
    watches: Watches,
    job: JobId,
    seen: Option<watch::Receiver<Seen>>,
}

impl Subscription {
    /// Returns how the job was when it was last read.
    pub(super) fn seen(&mut self) -> Seen {
        self.seen.as_mut().map(|seen| seen.borrow_and_update().clone()).unwrap_or_default()
    }

    /// Waits until the job differs from what was [`seen`](Self::seen). False if it is gone.
    pub(super) async fn changed(&mut self) -> bool {
        match &mut self.seen {
            Some(seen) => seen.changed().await.is_ok(),
            None => false,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut jobs = self.watches.jobs();
        drop(self.seen.take());
        if jobs.get(&self.job).is_some_and(|sender| sender.receiver_count() == 0) {
            jobs.remove(&self.job);
        }
    }
}
