//! A lease is renewed while the work lasts, and work stops when the lease is lost.

use std::{cell::Cell, future::pending, time::Duration};

use atelier_db::lease::hold;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

const TIME: Duration = Duration::from_millis(60);

fn away() -> sqlx::Error {
    sqlx::Error::PoolTimedOut
}

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
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
    assert_eq!(hold(Instant::now(), 10 * TIME, renew, twice.notified()).await, Some(()));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_long_before_it_expires() {
    let (last, count) = (Cell::new(Instant::now()), Cell::new(0));
    let renew = || async {
        assert!(last.get().elapsed() <= TIME / 2);
        last.set(Instant::now());
        count.set(count.get() + 1);
        if count.get() % 2 == 0 { Err(away()) } else { Ok(true) }
    };
    assert_eq!(hold(Instant::now(), TIME, renew, sleep(20 * TIME)).await, Some(()));
    assert!(count.get() >= 40);
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_with_its_time() {
    let start = Instant::now();
    assert_eq!(hold(start, TIME, || async { Err(away()) }, pending::<()>()).await, None);
    assert_eq!(start.elapsed(), TIME);
}

#[tokio::test(start_paused = true)]
async fn work_stops_when_another_worker_takes_the_lease() {
    assert_eq!(hold(Instant::now(), TIME, || async { Ok(false) }, pending::<()>()).await, None);
}

#[tokio::test(start_paused = true)]
async fn work_stops_when_the_lease_cannot_be_renewed() {
    let refused = || async { Err(away()) };
    assert_eq!(hold(Instant::now(), TIME, refused, pending::<()>()).await, None);
    let silent = || pending();
    assert_eq!(hold(Instant::now(), TIME, silent, pending::<()>()).await, None);
}
