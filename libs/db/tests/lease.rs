//! A lease is renewed while the work lasts, and work stops when the lease is lost. Named leases have one owner at a time.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail loudly")]

use std::{borrow::Cow, cell::Cell, future::pending, time::Duration};

use atelier_db::{
    Db,
    lease::{self, hold},
};
use futures::future::join_all;
use sqlx::{
    SqlStr,
    migrate::{Migration, MigrationType, Migrator},
};
use testkit::{TestDb, eventually};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};
use uuid::Uuid;

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

async fn database() -> (TestDb, Db) {
    let schema =
        "create table leases (name text primary key, owner uuid not null, until timestamptz not null)";
    let schema = SqlStr::from_static(schema);
    let migration = Migration::new(1, Cow::Borrowed("leases"), MigrationType::Simple, schema, false);
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(vec![migration])).await;
    (database, db)
}

async fn take(db: &Db, name: &str, owner: Uuid, time: Duration) -> bool {
    let mut tx = db.worker().await.unwrap();
    let taken = lease::take(&mut tx, name, owner, time).await.unwrap();
    tx.commit().await.unwrap();
    taken
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_named_lease_has_one_owner_until_it_is_released_or_over() {
    let (_database, db) = database().await;
    let [one, other] = [Uuid::new_v4(), Uuid::new_v4()];
    assert!(take(&db, "a", one, HOUR).await);
    assert!(!take(&db, "a", other, HOUR).await);
    assert!(take(&db, "b", other, HOUR).await, "another name");
    assert!(take(&db, "a", one, HOUR).await, "its owner extends it");
    for (owner, is_free) in [(other, false), (one, true)] {
        let mut tx = db.worker().await.unwrap();
        lease::release(&mut tx, "a", owner).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(take(&db, "a", other, Duration::from_millis(50)).await, is_free);
    }
    eventually("the lease is over", async || take(&db, "a", one, HOUR).await.then_some(())).await;
    assert!(!take(&db, "a", other, HOUR).await);
}

#[tokio::test]
async fn one_of_many_at_the_same_time_gets_what_is_due_once() {
    let (_database, db) = database().await;
    for period in [Duration::ZERO, HOUR] {
        let attempts = (0..8).map(async |_| {
            let mut tx = db.worker().await.unwrap();
            let taken = lease::take_once(&mut tx, "a", period).await.unwrap();
            tx.commit().await.unwrap();
            taken
        });
        let taken = join_all(attempts).await.into_iter().filter(|taken| *taken).count();
        assert_eq!(taken, if period.is_zero() { 8 } else { 1 });
    }
}
