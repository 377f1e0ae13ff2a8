//! `POST /worker/v1/register`: a process of a worker begins.

use api::{Json, Problem};
use axum::{Router, extract::State, routing::post};
use ids::WorkerId;
use serde::Serialize;

use super::{caller::WorkerCaller, model::WorkerState, session::end_session};
use crate::{attempt::Policy, state::AppState};

pub(crate) fn routes() -> Router<AppState> {
    Router::new().route("/worker/v1/register", post(register))
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
async fn register(State(state): State<AppState>, worker: WorkerCaller) -> Result<Json<Session>, Problem> {
    let policy = Policy::of(&state.config.scheduler);
    let mut tx = state.db.worker().await?;
    let held = worker.lock(&mut tx).await?;
    let session = end_session(&mut tx, &held, WorkerState::Ready, &policy, (state.clock)()).await?;
    tx.commit().await?;
    state.submitted.send_replace(());
    let heartbeat_seconds = state.config.scheduler.silent().as_secs().div_ceil(3).max(1);
    Ok(Json(Session { worker_id: worker.0, session, heartbeat_seconds }))
}
