//! Which jobs with open streams have changed, read once per replica in one query.

use std::{collections::HashMap, sync::Arc, time::Duration};

use db::Db;
use events::{Subscription, Watched};
use ids::JobId;
use jobs_core::progress::{ProgressView, Question, Report};
use service::{Duty, Task};

use super::store;
use crate::{progress::Reports, rest::Rest};

/// How often jobs with open streams are read.
const LOOK: Duration = Duration::from_millis(200);

/// A job as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// Number of its latest event; 0 if it has not been read.
    pub(super) generation: i64,
    pub(super) progress: Option<Report>,
}

/// The jobs with open streams in this replica. Clones share them.
#[derive(Clone)]
pub struct Watches {
    db: Db,
    rest: Arc<Rest>,
    reports: Reports,
    jobs: Watched<JobId, Seen>,
}

impl Watches {
    pub fn new(db: &Db, rest: &Arc<Rest>, reports: &Reports) -> Self {
        Self { db: db.clone(), rest: Arc::clone(rest), reports: reports.clone(), jobs: Watched::default() }
    }

    /// The task that reads jobs with open streams.
    pub fn task(&self) -> Task {
        Task::new("watched_jobs", Duty::Follow, self, |watches| async move { watches.run().await })
    }

    async fn run(&self) -> anyhow::Result<()> {
        loop {
            let jobs = self.jobs.all();
            if jobs.is_empty() {
                self.jobs.opened().await;
                continue;
            }
            let mut tx = self.db.worker().await?;
            let read = store::positions(&mut tx, &jobs).await?;
            drop(tx);
            let mut found = self.seen(read).await;
            for job in &jobs {
                self.jobs.found(job, found.remove(job));
            }
            tokio::select! {
                () = self.rest.pause(LOOK) => {}
                // another one, which has not been read
                () = self.jobs.opened() => {}
            }
        }
    }

    /// Adds the newest reports to what was read.
    async fn seen(&self, read: Vec<store::Position>) -> HashMap<JobId, Seen> {
        let (open, others): (Vec<_>, Vec<_>) = read.into_iter().partition(|job| job.is_with_worker);
        let latest = self.reports.latest(open.iter().map(question).collect()).await;
        let open = open.into_iter().zip(latest);
        open.chain(others.into_iter().map(|job| (job, None)))
            .map(|(job, progress)| (job.job, Seen { generation: job.generation, progress }))
            .collect()
    }

    /// Watches a job until the result is dropped.
    pub(super) fn subscribe(&self, job: JobId) -> Subscription<JobId, Seen> {
        self.jobs.subscribe(job)
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
