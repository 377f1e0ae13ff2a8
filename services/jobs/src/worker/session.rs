//! Sessions of workers: from a registration of a process to the next one, or until the worker is lost.

use jiff::Timestamp;
use sqlx::PgConnection;

use super::{
    model::WorkerState,
    store::{self, Held},
};
use crate::{
    attempt::{self, End, Policy},
    error::Error,
};

/// Ends the session of a locked worker: its attempt is lost. Begins another one if the worker is to be `ready`. Returns the
/// number of the session.
pub(crate) async fn end_session(
    conn: &mut PgConnection,
    worker: &Held,
    state: WorkerState,
    policy: &Policy,
    now: Timestamp,
) -> Result<i64, Error> {
    if let Some((job, number)) = worker.current {
        match attempt::end(conn, worker, job, number, &End::Lost, policy, now).await {
            // another worker of the attempt has ended it
            Err(Error::NotYours) => store::free(conn, worker.id, job).await?,
            ended => drop(ended?),
        }
    }
    Ok(store::next_session(conn, worker, state).await?)
}
