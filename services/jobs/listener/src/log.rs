//! `POST …/log` of the listener for workers: output of the program of an attempt.

use api::{Checks, Json, Path, Problem};
use attempts::attempt::log_store;
use axum::extract::State;
use ids::JobId;
use records::worker::{NotYours, WorkerCaller};
use serde::{Deserialize, Serialize};

use super::Parts;

/// Maximum number of bytes of one call.
const MOST: usize = 65_536 * 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chunk {
    session: i64,
    /// Position of the text in the output, in bytes, and of its end.
    from: i64,
    until: i64,
    text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Appended {
    /// The end of the stored log.
    until: i64,
}

/// Appends to the log. A repetition changes nothing.
pub(super) async fn append(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(chunk): Json<Chunk>,
) -> Result<Json<Appended>, Problem> {
    let mut checks = Checks::default();
    checks.within("/from", chunk.from, 0, i64::MAX);
    checks.within("/until", chunk.until, chunk.from, i64::MAX);
    checks.length("/text", &chunk.text, MOST);
    checks.finish()?;
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, chunk.session, (job, number)).await?;
    let text = chunk.text.replace('\0', "\u{fffd}");
    let span = (chunk.from, chunk.until);
    let until = log_store::append(&mut tx, (job, number), span, &text).await?.ok_or(NotYours)?;
    tx.commit().await?;
    Ok(Json(Appended { until }))
}
