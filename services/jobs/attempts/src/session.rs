//! Sessions of workers: from a registration of a process to the next one, or until the worker is lost.

use jiff::Timestamp;
use jobs_core::{
    attempt::{End, Policy},
    worker::WorkerState,
};
use records::worker::{
    Error,
    store::{self, Held},
};
use sqlx::PgConnection;

use crate::attempt;

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// Its process announced its end.
    Announced,
    /// Its process is gone, or misbehaves.
    Unannounced,
}

/// Ends the session of a locked worker: its attempt is lost; an unannounced loss also counts for its node.
/// Begins another one if the worker is to be `ready`. Returns the number of the session.
pub async fn end_session(
    conn: &mut PgConnection,
    worker: &Held,
    (how, state): (EndCause, WorkerState),
    policy: &Policy,
    now: Timestamp,
) -> Result<i64, Error> {
    if let Some((job, number)) = worker.current {
        match attempt::end(conn, worker, job, number, &End::Lost, policy, now).await {
            // another worker of the attempt has ended it
            Err(Error::NotYours(_)) => store::free(conn, worker.id, job).await?,
            ended => {
                ended?;
                if how == EndCause::Unannounced {
                    attempt::note_lost_node(conn, job, number, worker.id).await?;
                }
            }
        }
    }
    Ok(store::next_session(conn, worker, state).await?)
}
