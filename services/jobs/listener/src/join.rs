//! `POST …/join` and `POST …/done` of the listener for workers: for attempts that have several.

use std::net::SocketAddr;

use api::{Checks, Json, Path, Problem};
use attempts::attempt::member;
use axum::extract::State;
use ids::JobId;
use records::worker::{NotYours, WorkerCaller};
use serde::{Deserialize, Serialize};

use super::Parts;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Joining {
    session: i64,
    /// Address at which the other workers reach this one.
    address: SocketAddr,
}

#[derive(Debug, Serialize)]
pub(super) struct Joined {
    /// The address of rank 0, once all have joined.
    master: Option<String>,
}

/// Records that a worker has its inputs, and the address at which the others reach it. Repeated until all
/// have joined.
pub(super) async fn join(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(joining): Json<Joining>,
) -> Result<Json<Joined>, Problem> {
    let mut checks = Checks::default();
    checks.require(joining.address.port() > 0, "/address", "must have a port");
    checks.finish()?;
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, joining.session, (job, number)).await?;
    let address = joining.address.to_string();
    let master = member::join(&mut tx, job, number, worker.0, &address).await?;
    tx.commit().await?;
    Ok(Json(Joined { master }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Done {
    session: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct DoneAnswer {}

/// Records that the program of a worker other than rank 0 has ended successfully. Can be repeated.
pub(super) async fn done(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(done): Json<Done>,
) -> Result<Json<DoneAnswer>, Problem> {
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, done.session, (job, number)).await?;
    let place = member::find(&mut tx, job, number, worker.0).await?;
    if place.is_none_or(|place| place.rank == 0) {
        return Err(NotYours.into());
    }
    member::set_done(&mut tx, job, number, worker.0).await?;
    tx.commit().await?;
    Ok(Json(DoneAnswer {}))
}
