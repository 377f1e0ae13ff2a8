//! `POST /worker/v1/register` and `unregister`: a process of a worker begins, and ends. `models`: the models
//! that it has.

use api::{Json, Problem};
use attempts::session::{EndCause, end_session};
use axum::{
    Router,
    extract::{FromRef, State},
    routing::post,
};
use db::Db;
use ids::WorkerId;
use jobs_core::{attempt::Policy, needs::Models, worker::WorkerState};
use records::{base_model, worker::WorkerCaller};
use serde::{Deserialize, Serialize};

use super::Parts;

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Parts: FromRef<S>,
    Db: FromRef<S>,
{
    Router::new()
        .route("/worker/v1/register", post(register))
        .route("/worker/v1/models", post(report_models))
        .route("/worker/v1/unregister", post(unregister))
}

/// A new session.
#[derive(Debug, Serialize)]
struct Session {
    worker_id: WorkerId,
    /// Sent with each call. It ends when another process registers, or the worker is lost.
    session: i64,
    /// Each call counts as a heartbeat; there must be one in this time.
    heartbeat_seconds: u64,
}

/// Begins a session. What an earlier session runs is lost.
async fn register(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Json(models): Json<Models>,
) -> Result<Json<Session>, Problem> {
    let models = models.checked().map_err(Problem::invalid)?;
    let policy = Policy::of(&parts.scheduler);
    let mut tx = parts.db.worker().await?;
    let held = worker.lock(&mut tx).await?;
    let end = (EndCause::Unannounced, WorkerState::Ready);
    let session = end_session(&mut tx, &held, end, &policy, (parts.clock)()).await?;
    base_model::report(&mut tx, worker.0, &models).await?;
    tx.commit().await?;
    parts.submitted.send_replace(());
    let heartbeat_seconds = parts.scheduler.silent().as_secs().div_ceil(3).max(1);
    Ok(Json(Session { worker_id: worker.0, session, heartbeat_seconds }))
}

/// The models that a worker has now.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    session: i64,
    #[serde(default)]
    checkpoints: Option<Vec<String>>,
    #[serde(default)]
    base_models: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Reported {}

/// Stores the models that a worker has, if they have changed.
async fn report_models(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Json(Report { session, checkpoints, base_models }): Json<Report>,
) -> Result<Json<Reported>, Problem> {
    let models = Models { checkpoints, base_models }.checked().map_err(Problem::invalid)?;
    let mut tx = parts.db.worker().await?;
    worker.touch(&mut tx, session).await?;
    base_model::report(&mut tx, worker.0, &models).await?;
    tx.commit().await?;
    parts.submitted.send_replace(());
    Ok(Json(Reported {}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionEnd {
    session: i64,
}

#[derive(Debug, Serialize)]
struct SessionEnded {}

/// Ends a session: the worker gets no job until a process registers. What the session runs is lost, and tried again.
async fn unregister(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Json(end): Json<SessionEnd>,
) -> Result<Json<SessionEnded>, Problem> {
    let policy = Policy::of(&parts.scheduler);
    let mut tx = parts.db.worker().await?;
    let held = worker.touch(&mut tx, end.session).await?;
    let how = (EndCause::Announced, WorkerState::Offline);
    end_session(&mut tx, &held, how, &policy, (parts.clock)()).await?;
    tx.commit().await?;
    parts.submitted.send_replace(());
    Ok(Json(SessionEnded {}))
}
