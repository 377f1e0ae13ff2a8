//! `POST …/log` of the listener for workers: what the program of an attempt has written.

use api::{Checks, Json, Path, Problem};
use axum::extract::State;
use ids::JobId;
use serde::{Deserialize, Serialize};

use super::log_store;
use crate::{error::Error, state::AppState, worker::WorkerCaller};

/// Bytes of one call, at most.
const MOST: usize = 65_536 * 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chunk {
    session: i64,
    /// Position of the text in what was written, in bytes, and of its end.
    from: i64,
    until: i64,
    text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Appended {
    /// Until where the log is stored.
    until: i64,
}

/// Appends to the log. A repetition changes nothing.
pub(super) async fn append(
    State(state): State<AppState>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(chunk): Json<Chunk>,
) -> Result<Json<Appended>, Problem> {
    let mut checks = Checks::default();
    checks.within("/from", chunk.from, 0, i64::MAX);
    checks.within("/until", chunk.until, chunk.from, i64::MAX);
    checks.length("/text", &chunk.text, MOST);
    checks.finish()?;
    let mut tx = state.db.worker().await?;
    worker.touch_running(&mut tx, chunk.session, (job, number)).await?;
    let text = chunk.text.replace('\0', "\u{fffd}");
    let span = (chunk.from, chunk.until);
    let until = log_store::append(&mut tx, (job, number), span, &text).await?.ok_or(Error::NotYours)?;
    tx.commit().await?;
    Ok(Json(Appended { until }))
}
