//! The listener for workers: polls, progress and ends of attempts. A call proves the worker by its token, and names the
//! session and the attempt, which fence it.

use std::time::Duration;

use api::{Checks, Json, Path, Problem};
use attempts::{
    attempt::{self, member, store},
    session::{EndCause, end_session},
};
use axum::{
    Router,
    extract::{FromRef, State},
    routing::post,
};
use db::Db;
use ids::JobId;
use jiff::Timestamp;
use jobs_core::{
    application::MODEL_FILE,
    attempt::{self as rules, End, Policy},
    progress::{Phase, Progress},
    status::{Fence, JobProblem, JobState},
    worker::WorkerState,
};
use records::{
    job,
    worker::{self, NotYours, WorkerCaller, store::Held},
};
use results::artifact;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use tokio::time::{Instant, timeout_at};

use super::{
    Parts, delivering, inputs, join, log,
    poll::{self, AttemptRef, Instruction},
    progress,
};

/// For how long an open poll shows that a worker is alive, while nothing is in progress. Several polls fit into it, of which only the
/// first writes.
const VOUCH: Duration = Duration::from_secs(65);
/// Longest poll.
const MAX_WAIT: u32 = 20;
/// Maximum number of files that are not results whose names the user is shown.
const MOST_NAMED: usize = 16;
/// How often an open poll checks for assignments of other replicas.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Parts: FromRef<S>,
    Db: FromRef<S>,
{
    Router::new()
        .route("/worker/v1/poll", post(poll))
        .route("/worker/v1/attempts/{job}/{number}/progress", post(progress))
        .route("/worker/v1/attempts/{job}/{number}/inputs", post(inputs::get_inputs))
        .route("/worker/v1/attempts/{job}/{number}/join", post(join::join))
        .route("/worker/v1/attempts/{job}/{number}/done", post(join::done))
        .route("/worker/v1/attempts/{job}/{number}/log", post(log::append))
        .route("/worker/v1/attempts/{job}/{number}/deliver", post(delivering::hand_over))
        .route("/worker/v1/attempts/{job}/{number}/complete", post(complete))
        .route("/worker/v1/attempts/{job}/{number}/fail", post(fail))
        .route("/worker/v1/attempts/{job}/{number}/leave", post(leave))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PollRequest {
    session: i64,
    /// The attempt that the worker runs.
    #[serde(default)]
    running: Option<AttemptRef>,
    #[serde(default)]
    wait_seconds: u32,
}

#[derive(Debug, Serialize)]
struct PollAnswer {
    instruction: Option<Instruction>,
}

/// Returns the instruction for the worker, as soon as there is one. A poll that was answered and lost gets the same
/// answer again.
async fn poll(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Json(request): Json<PollRequest>,
) -> Result<Json<PollAnswer>, Problem> {
    let mut checks = Checks::default();
    checks.within("/wait_seconds", request.wait_seconds, 0, MAX_WAIT);
    checks.finish()?;
    let deadline = Instant::now() + Duration::from_secs(request.wait_seconds.into());
    let policy = Policy::of(&parts.scheduler);
    let mut assigned = parts.assigned.subscribe();
    let (mut touched, heartbeat) = (None::<Instant>, parts.scheduler.silent() / 5);
    let mut vouched = None::<Vouched>;
    if parts.rest.is_on()
        && request.running.is_none()
        && parts.rest.vouches(worker.0, request.session, deadline)
    {
        touched = Some(Instant::now());
        vouched = Some(Vouched(Some((parts.clone(), worker, request.session))));
    }
    loop {
        assigned.mark_unchanged();
        let mut tx = parts.db.worker().await?;
        let mut instruction = None;
        // most checks find nothing, and write nothing
        let is_late =
            |at: Instant| at.elapsed() >= heartbeat || parts.rest.is_on() && request.running.is_none();
        let is_silent = match (&vouched, touched) {
            (Some(_), _) => !parts.rest.is_on(),
            (None, touched) => touched.is_none_or(is_late),
        };
        if is_silent || poll::is_due(&mut tx, worker.0, request.running).await? {
            // while nothing is in progress, an open poll shows that the worker is alive
            let is_quiet = parts.rest.is_on() && request.running.is_none();
            let present_for = is_quiet.then_some(VOUCH);
            let until = Instant::now() + VOUCH;
            if is_quiet {
                let before = vouched.replace(Vouched(Some((parts.clone(), worker, request.session))));
                if let Some(before) = before {
                    before.forget();
                }
            }
            let held = worker.touch_for(&mut tx, request.session, present_for).await?;
            instruction = poll::next(&mut tx, &held, request.running, &policy, (parts.clock)()).await?;
            tx.commit().await?;
            parts.rest.vouch(worker.0, is_quiet.then_some((request.session, until)));
            if let Some(vouched) = vouched.take_if(|_| !is_quiet) {
                vouched.forget();
            }
            touched = Some(Instant::now());
        } else {
            drop(tx);
        }
        let is_over = Instant::now() >= deadline || parts.stop.is_cancelled();
        if instruction.is_some() || is_over {
            // the worker calls again
            if let Some(vouched) = vouched {
                vouched.forget();
            }
            return Ok(Json(PollAnswer { instruction }));
        }
        tokio::select! {
            () = parts.stop.cancelled() => {}
            // the sender lives as long as the state
            _ = timeout_at(deadline, assigned.changed()) => {}
            () = parts.rest.begun(), if vouched.is_none() && request.running.is_none() => {}
            () = parts.rest.pause(LOOK) => {}
        }
    }
}

/// A worker that counts as present in this replica. When the poll ends without an answer, the worker may be
/// gone.
struct Vouched(Option<(Parts, WorkerCaller, i64)>);

impl Vouched {
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Vouched {
    fn drop(&mut self) {
        let Some((parts, worker, session)) = self.0.take() else { return };
        parts.rest.vouch(worker.0, None);
        tokio::spawn(async move {
            let ended = async {
                let mut tx = parts.db.worker().await?;
                worker.doubt(&mut tx, session).await?;
                tx.commit().await
            };
            if let Err(error) = ended.await {
                tracing::warn!(worker.id = %worker.0, %error, "a poll was cut off, and the worker counts as present");
            }
        });
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgressReport {
    session: i64,
    phase: Phase,
    #[serde(default)]
    step: u32,
    #[serde(default)]
    steps: u32,
}

#[derive(Debug, Serialize)]
struct ProgressAnswer {
    /// `cancelling` tells the worker to stop.
    state: JobState,
    leave_by: Option<Timestamp>,
}

/// Records the progress of the attempt. The first report begins it. Most other reports change nothing else,
/// and are not written at once.
async fn progress(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(report): Json<ProgressReport>,
) -> Result<Json<ProgressAnswer>, Problem> {
    let (step, steps) = (steps(report.step), steps(report.steps));
    let progress = Progress { attempt: number, phase: report.phase, step, steps };
    let reporter = (worker.0, report.session);
    if let Some((state, leave_by)) = parts.reports.note(&parts.db, reporter, job, progress).await? {
        return Ok(Json(ProgressAnswer { state, leave_by }));
    }
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, report.session, (job, number)).await?;
    let fence = Fence { attempt: number, worker: worker.0 };
    let answer = begin(&mut tx, job, fence).await?;
    progress::put(&mut tx, job, progress, (parts.clock)()).await?;
    if report.phase != Phase::Loading {
        work(&mut tx, job, number).await?;
    }
    tx.commit().await?;
    Ok(Json(answer))
}

fn steps(reported: u32) -> i32 {
    i32::try_from(reported).unwrap_or(i32::MAX)
}

/// Records, the first time, that an attempt works, and when its cost reaches `max_cost` of its job.
async fn work(conn: &mut PgConnection, job: JobId, number: i32) -> sqlx::Result<()> {
    let Some(unworked) = store::unworked(conn, job, number).await? else { return Ok(()) };
    store::set_working(conn, job, number, unworked.affordable()).await
}

async fn begin(conn: &mut PgConnection, id: JobId, fence: Fence) -> Result<ProgressAnswer, worker::Error> {
    let (job, leave_by) = job::find_open(conn, id).await?.ok_or(NotYours)?;
    let mut status = rules::begin(&job.status, fence)?;
    if status != job.status {
        let (job, _) = job::lock_for_attempt(conn, id).await?.ok_or(NotYours)?;
        // it may have been cancelled before it was locked
        status = rules::begin(&job.status, fence)?;
        if status != job.status {
            job::record_begin(conn, &job, &status).await?;
            store::begin(conn, id, fence.attempt).await?;
        }
    }
    Ok(ProgressAnswer { state: status.state(), leave_by })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Completion {
    session: i64,
    artifacts: Vec<artifact::Report>,
    /// Files of the program that are not results.
    #[serde(default)]
    refused: Vec<RefusedFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedFile {
    name: String,
    reason: String,
}

/// The note for the user about files that are not results; none if there are none.
fn tell_refused(files: &[RefusedFile]) -> Option<JobProblem> {
    let named = files.iter().take(MOST_NAMED).map(|RefusedFile { name, reason }| format!("{name}: {reason}"));
    let named = named.collect::<Vec<_>>().join("; ").replace('\0', "");
    let more = match files.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let problem = || JobProblem {
        code: "results-refused".to_owned(),
        message: format!("Not delivered: {named}{more}."),
    };
    (!files.is_empty()).then(problem)
}

#[derive(Debug, Serialize)]
struct EndAnswer {
    /// The state of the job.
    state: JobState,
}

/// Whether the worker runs or delivers the attempt.
async fn is_open(
    parts: &Parts,
    worker: WorkerCaller,
    session: i64,
    job: JobId,
    number: i32,
) -> Result<bool, worker::Error> {
    let mut tx = parts.db.worker().await?;
    let held = worker.touch(&mut tx, session).await?;
    let is_open = held.current == Some((job, number))
        || worker::store::delivers(&mut tx, worker.0, (job, number)).await?;
    tx.commit().await?;
    Ok(is_open)
}

/// Ends the attempt with its results, which were uploaded: they are delivered. Can be repeated.
async fn complete(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(completion): Json<Completion>,
) -> Result<Json<EndAnswer>, Problem> {
    let artifacts = artifact::read(&completion.artifacts)?;
    let mut checks = Checks::default();
    for (n, RefusedFile { name, reason }) in completion.refused.iter().enumerate() {
        checks.length(&format!("/refused/{n}/name"), name, 2_000);
        checks.length(&format!("/refused/{n}/reason"), reason, 200);
    }
    checks.finish()?;
    let note = tell_refused(&completion.refused);
    let (mut training, mut refused) = (None, None);
    if is_open(&parts, worker, completion.session, job, number).await? {
        training = inputs::training(&parts.db, job).await?;
        let has_file = artifacts.iter().any(|artifact| artifact.name == MODEL_FILE);
        if training.is_some() && !has_file {
            return Err(artifact::Error::UploadMissing(vec![MODEL_FILE.to_owned()]).into());
        }
        refused = artifact::deliver(&parts.artifact, job, number, &artifacts).await?;
    }
    let policy = Policy::of(&parts.scheduler);
    let mut tx = parts.db.worker().await?;
    let held = worker.touch(&mut tx, completion.session).await?;
    let results = attempt::Results { artifacts: &artifacts, training: training.as_ref(), refused, note };
    let ended = attempt::complete(&mut tx, &held, job, number, results, &policy, (parts.clock)()).await?;
    tx.commit().await?;
    parts.metrics.ended(ended);
    parts.submitted.send_replace(());
    Ok(Json(EndAnswer { state: ended }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    session: i64,
    code: String,
    message: String,
    retryable: bool,
    /// The worker cannot run another job: the session ends with the attempt.
    #[serde(default)]
    ends_session: bool,
}

/// Ends the attempt without results.
async fn fail(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(failure): Json<Failure>,
) -> Result<Json<EndAnswer>, Problem> {
    let mut checks = Checks::default();
    checks.name("/code", &failure.code);
    checks.length("/message", &failure.message, 1_000);
    checks.require(!failure.message.contains('\0'), "/message", "must not contain NUL");
    checks.finish()?;
    let problem = JobProblem { code: failure.code, message: failure.message };
    let how = End::Failed { problem, retryable: failure.retryable };
    let attempt = AttemptRef { job_id: job, attempt: number };
    end_attempt(&parts, worker, attempt, (failure.session, failure.ends_session), &how).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaving {
    session: i64,
    /// As in [`Failure`].
    #[serde(default)]
    ends_session: bool,
}

/// Ends the attempt because it was told to stop.
async fn leave(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(leaving): Json<Leaving>,
) -> Result<Json<EndAnswer>, Problem> {
    let attempt = AttemptRef { job_id: job, attempt: number };
    end_attempt(&parts, worker, attempt, (leaving.session, leaving.ends_session), &End::Left).await
}

async fn end_attempt(
    parts: &Parts,
    worker: WorkerCaller,
    attempt: AttemptRef,
    (session, ends_session): (i64, bool),
    how: &End,
) -> Result<Json<EndAnswer>, Problem> {
    let policy = Policy::of(&parts.scheduler);
    let AttemptRef { job_id, attempt } = attempt;
    artifact::see_checkpoints(&parts.artifact, job_id, attempt).await?;
    let mut tx = parts.db.worker().await?;
    let held = worker.touch(&mut tx, session).await?;
    let place = member::find(&mut tx, job_id, attempt, worker.0).await?;
    if *how == End::Left && !ends_session && place.is_some_and(|place| place.rank > 0) {
        // rank 0 ends the attempt, after its last checkpoint
        let (job, _) = job::find_open(&mut tx, job_id).await?.ok_or(NotYours)?;
        if held.current != Some((job_id, attempt)) || !job.runs(attempt) {
            return Err(NotYours.into());
        }
        member::set_done(&mut tx, job_id, attempt, worker.0).await?;
        tx.commit().await?;
        return Ok(Json(EndAnswer { state: job.status.state() }));
    }
    let now = (parts.clock)();
    let ended = attempt::end(&mut tx, &held, job_id, attempt, how, &policy, now).await?;
    if ends_session {
        let idle = Held { current: None, ..held };
        let how = (EndCause::Announced, WorkerState::Offline);
        end_session(&mut tx, &idle, how, &policy, now).await?;
    }
    tx.commit().await?;
    parts.metrics.ended(ended);
    parts.submitted.send_replace(());
    Ok(Json(EndAnswer { state: ended }))
}
