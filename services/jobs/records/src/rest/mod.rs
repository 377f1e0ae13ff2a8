//! The idle mode ("rest") of a replica. While something is in progress, its tasks poll for changes many times
//! a second, as a notification with each commit would make commits wait for each other. While nothing is in
//! progress, they poll rarely, and the first change wakes them.
//!
//! No change is lost in between: a replica announces that it rests, makes sure that nothing is in progress
//! and that no transaction is running that has not seen the announcement, lets its tasks poll once more, and
//! only then lets them sleep.

mod store;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use db::Db;
use futures::FutureExt as _;
use ids::WorkerId;
use service::{Duty, Round, Task};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// The parts that decide when this replica rests.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub rest: Arc<Rest>,
    /// After this time a worker is silent.
    pub silent: Duration,
}

/// Channel of the notifications; see `migrations/jobs/0002_pools.sql`.
const CHANNEL: &str = "atelier_jobs_rest";
/// A replica rests only after nothing has been in progress for this long: longer than its tasks wait between
/// two polls.
const LINGER: Duration = Duration::from_secs(6);
/// How often tasks poll while the replica rests, in case a notification was lost.
const HEAL: Duration = Duration::from_secs(120);
/// How often a resting replica checks that nothing is in progress.
const CHECK: Duration = Duration::from_secs(30);
/// Minimum time between two such checks.
const SHORTEST: Duration = Duration::from_millis(500);
/// How long an announcement lasts, during which others wake a replica, unless it is extended.
const ANNOUNCED: Duration = Duration::from_secs(180);

/// Whether this replica rests. It does not at first.
#[derive(Debug)]
pub struct Rest {
    is_on: watch::Sender<bool>,
    /// Sessions of workers that this replica counts as present, and the end of that time.
    present: Mutex<HashMap<WorkerId, (i64, Instant)>>,
}

impl Default for Rest {
    fn default() -> Self {
        Self { is_on: watch::Sender::new(false), present: Mutex::default() }
    }
}

impl Rest {
    /// Whether the replica rests.
    pub fn is_on(&self) -> bool {
        *self.is_on.borrow()
    }

    /// Waits until the replica rests.
    pub async fn begun(&self) {
        // the sender lives as long as this
        let _ = self.is_on.subscribe().wait_for(|rests| *rests).await;
    }

    /// Waits until the replica does not rest.
    pub async fn ended(&self) {
        let _ = self.is_on.subscribe().wait_for(|rests| !*rests).await;
    }

    /// Records until when the session of a worker counts as present in the database; none if it does not.
    pub fn vouch(&self, worker: WorkerId, session: Option<(i64, Instant)>) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        match session {
            Some(session) => present.insert(worker, session),
            None => present.remove(&worker),
        };
    }

    /// Whether the session of a worker counts as present until then.
    pub fn vouches(&self, worker: WorkerId, session: i64, until: Instant) -> bool {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present.get(&worker).is_some_and(|(known, end)| *known == session && *end >= until)
    }

    /// Pauses a task: for `look`, or longer while the replica rests.
    pub async fn pause(&self, look: Duration) {
        sleep(look).await;
        let _ = timeout(HEAL, self.ended()).await;
    }
}

/// Ends the rest of all replicas when the transaction commits.
///
/// # Errors
/// If the database fails.
pub async fn wake(conn: &mut sqlx::PgConnection) -> sqlx::Result<()> {
    store::notify(conn, CHANNEL).await
}

/// A task of a round every `period`, rarely while the replica rests.
pub fn task<P, R>(
    rest: &Arc<Rest>,
    (owner, duty, period): (&str, Duty, Duration),
    parts: &P,
    round: impl Fn(P) -> R + Send + Sync + 'static,
) -> Task
where
    P: Clone + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<Round>> + Send + 'static,
{
    let resting = Arc::clone(rest);
    let rest = move |_| {
        let rest = Arc::clone(&resting);
        async move {
            let _ = timeout(HEAL, rest.ended()).await;
        }
    };
    Task::paced(owner, duty, (period, period + HEAL), rest, parts, round)
}

/// Decides when this replica rests, until `stop`.
pub async fn decide(parts: Parts, stop: CancellationToken) -> anyhow::Result<()> {
    let ended = stop.run_until_cancelled(run(&parts)).await;
    // without this task, other replicas would not be woken
    parts.rest.is_on.send_replace(false);
    ended.unwrap_or(Ok(()))
}

async fn run(parts: &Parts) -> anyhow::Result<()> {
    let replica = uuid::Uuid::new_v4();
    let silent = parts.silent;
    let mut notifications = parts.db.listen(CHANNEL).await?;
    loop {
        sleep(LINGER).await;
        if look(parts, silent).await?.is_busy {
            continue;
        }
        // notifications from before the announcement
        while let Some(received) = notifications.recv().now_or_never() {
            received?;
        }
        announce(parts, replica).await?;
        let outlook = look(parts, silent).await?;
        // the tasks poll once more: changes from now on send a notification
        let is_quiet =
            outlook.is_alone && !outlook.is_busy && timeout(LINGER, notifications.recv()).await.is_err();
        if is_quiet {
            parts.rest.is_on.send_replace(true);
            tracing::debug!("nothing is in progress");
            let woken = rest(parts, replica, silent, &mut notifications).await;
            parts.rest.is_on.send_replace(false);
            woken?;
        }
        let mut tx = parts.db.worker().await?;
        store::end(&mut tx, replica).await?;
        tx.commit().await?;
    }
}

/// Waits until something is or may be in progress.
async fn rest(
    parts: &Parts,
    replica: uuid::Uuid,
    silent: Duration,
    notifications: &mut db::Notifications,
) -> anyhow::Result<()> {
    let mut announced = Instant::now();
    loop {
        let outlook = look(parts, silent).await?;
        if outlook.is_busy {
            return Ok(());
        }
        let due_in = outlook.due_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let pause = due_in.map_or(CHECK, |due_in| due_in.clamp(SHORTEST, CHECK));
        if let Ok(received) = timeout(pause, notifications.recv()).await {
            received?;
            return Ok(());
        }
        if announced.elapsed() >= ANNOUNCED / 3 {
            announced = Instant::now();
            announce(parts, replica).await?;
        }
    }
}

async fn look(parts: &Parts, silent: Duration) -> sqlx::Result<store::Outlook> {
    let mut tx = parts.db.worker().await?;
    store::outlook(&mut tx, silent).await
}

async fn announce(parts: &Parts, replica: uuid::Uuid) -> sqlx::Result<()> {
    let mut tx = parts.db.worker().await?;
    store::announce(&mut tx, replica, ANNOUNCED).await?;
    tx.commit().await
}
