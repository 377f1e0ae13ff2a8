//! A lease is renewed while the work lasts, and work stops when the lease is lost.

use std::{cell::Cell, future::pending, time::Duration};

use atelier_db::lease::hold;
use tokio::{sync::Notify, time::Instant};

const TIME: Duration = Duration::from_millis(60);

fn away() -> sqlx::Error {
    sqlx::Error::PoolTimedOut
}

#[tokio::test]
async fn work_may_take_longer_than_the_lease() {
    let (renewed, often) = (Cell::new(0), Notify::new());
    let renew = || async {
        renewed.set(renewed.get() + 1);
        if renewed.get() == 10 {
            often.notify_one();
        }
        Ok(true)
    };
    assert_eq!(hold(Instant::now(), TIME, renew, often.notified()).await, Some(()));
}

#[tokio::test]
async fn a_failed_renewal_is_retried() {
    let (asked, twice) = (Cell::new(0), Notify::new());
    let renew = || async {
        asked.set(asked.get() + 1);
        if asked.get() == 1 {
            return Err(away());
        }
        twice.notify_one();
        Ok(true)
    };
    // long enough for a retry on a busy machine
    assert_eq!(hold(Instant::now(), 10 * TIME, renew, twice.notified()).await, Some(()));
}

#[tokio::test]
async fn work_stops_when_another_worker_takes_the_lease() {
    assert_eq!(hold(Instant::now(), TIME, || async { Ok(false) }, pending::<()>()).await, None);
}

#[tokio::test]
async fn work_stops_when_the_lease_cannot_be_renewed() {
    let refused = || async { Err(away()) };
    assert_eq!(hold(Instant::now(), TIME, refused, pending::<()>()).await, None);
    let silent = || pending();
    assert_eq!(hold(Instant::now(), TIME, silent, pending::<()>()).await, None);
}
