//! Attempts with several workers: each worker joins when it has its inputs, and gets its rank.

use std::{
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::{left, stopped},
    jobs_service::{Attempt, Error, INCOMPLETE, Session, Work},
};

/// Pause between two checks for the others.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest time until all have joined.
const LIMIT: Duration = Duration::from_secs(120);

/// The environment variables with the rank of a program among the workers of its attempt.
pub(crate) type Place = Vec<(&'static str, String)>;

/// Waits until all workers of the attempt have joined. Returns the environment variables that PyTorch and others read.
///
/// # Errors
/// [`INCOMPLETE`] if some do not join.
pub(crate) async fn join(session: &Session, attempt: Attempt, work: &Work) -> Result<Place, Error> {
    let Some(place) = work.gang else { return Ok(Vec::new()) };
    let begun = Instant::now();
    let own = address(session).await.map_err(|error| Error::Unavailable(error.into()))?;
    loop {
        match session.join(attempt, own).await {
            Ok(Some(master)) => {
                return Ok(vec![
                    ("RANK", place.rank.to_string()),
                    ("WORLD_SIZE", place.world_size.to_string()),
                    ("LOCAL_RANK", "0".to_owned()),
                    ("MASTER_ADDR", master.ip().to_string()),
                    ("MASTER_PORT", master.port().to_string()),
                ]);
            }
            Ok(None) => {}
            Err(Error::Unavailable(error)) => {
                tracing::warn!(error = format!("{error:#}"), "cannot join");
            }
            Err(other) => return Err(other),
        }
        if begun.elapsed() >= LIMIT {
            let detail = "Not all workers of the attempt have begun.".to_owned();
            return Err(Error::Refused { code: INCOMPLETE.to_owned(), detail });
        }
        sleep(PAUSE).await;
    }
}

/// The address at which the others reach this worker: the address from which it reaches the service, and a
/// free port.
async fn address(session: &Session) -> std::io::Result<SocketAddr> {
    let own = session.own_address().await?;
    TcpListener::bind((own, 0))?.local_addr()
}

/// Reports that the program of a worker other than rank 0 has ended, unless the attempt has to stop before.
pub(crate) async fn done(session: &Session, attempt: Attempt, stop: &CancellationToken) -> Result<(), Error> {
    tokio::select! {
        done = session.done(attempt) => done,
        reason = stopped(session, attempt) => left(session, attempt, reason?, true).await,
        () = stop.cancelled() => Ok(()),
    }
}
