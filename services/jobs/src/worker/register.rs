//! `POST /worker/v1/register` and `unregister`: a process of a worker begins, and ends. `models`: what it has.

use api::{Json, Problem};
use axum::{Router, extract::State, routing::post};
use ids::WorkerId;
use serde::{Deserialize, Serialize};

use super::{
    caller::WorkerCaller,
    model::WorkerState,
    session::{EndCause, end_session},
};
use crate::{
    attempt::Policy,
    base_model::{self, Models},
    state::AppState,
};

pub(crate) fn routes() -> Router<AppState> {
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

/// Begins a session. What an earlier session runs is lost. Runners of the previous release do not say what they have.
async fn register(
    State(state): State<AppState>,
    worker: WorkerCaller,
    models: Option<Json<Option<Models>>>,
) -> Result<Json<Session>, Problem> {
    let models = models.and_then(|Json(models)| models).unwrap_or_default().checked()?;
    let policy = Policy::of(&state.config.scheduler);
    let mut tx = state.db.worker().await?;
    let held = worker.lock(&mut tx).await?;
    let end = (EndCause::Unannounced, WorkerState::Ready);
    let session = end_session(&mut tx, &held, end, &policy, (state.clock)()).await?;
    base_model::report(&mut tx, worker.0, &models).await?;
    tx.commit().await?;
    state.submitted.send_replace(());
    let heartbeat_seconds = state.config.scheduler.silent().as_secs().div_ceil(3).max(1);
    Ok(Json(Session { worker_id: worker.0, session, heartbeat_seconds }))
}

/// What a worker has now.
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

/// Stores what a worker has, when that has changed.
async fn report_models(
    State(state): State<AppState>,
    worker: WorkerCaller,
    Json(Report { session, checkpoints, base_models }): Json<Report>,
) -> Result<Json<Reported>, Problem> {
    let models = Models { checkpoints, base_models }.checked()?;
    let mut tx = state.db.worker().await?;
    worker.touch(&mut tx, session).await?;
    base_model::report(&mut tx, worker.0, &models).await?;
    tx.commit().await?;
    state.submitted.send_replace(());
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
    State(state): State<AppState>,
    worker: WorkerCaller,
    Json(end): Json<SessionEnd>,
) -> Result<Json<SessionEnded>, Problem> {
    let policy = Policy::of(&state.config.scheduler);
    let mut tx = state.db.worker().await?;
    let held = worker.touch(&mut tx, end.session).await?;
    let how = (EndCause::Announced, WorkerState::Offline);
    end_session(&mut tx, &held, how, &policy, (state.clock)()).await?;
    tx.commit().await?;
    state.submitted.send_replace(());
    Ok(Json(SessionEnded {}))
}
