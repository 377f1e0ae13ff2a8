//! Channels of one process, on one connection to Postgres.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail loudly")]

use std::time::Duration;

use atelier_db::{Db, DbConfig, Notifications};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, migrate::Migrator};
use testkit::{DatabaseProxy, TestDb, eventually};
use tokio::time::timeout;

const CHANNELS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// The connections that listen.
const LISTENING: &str = "select count(*) from pg_stat_activity
    where datname = current_database() and application_name like 'atelier-%-listener'";
const TERMINATE: &str = "select count(pg_terminate_backend(pid)) from pg_stat_activity
    where datname = current_database() and application_name like 'atelier-%-listener'";

async fn count(admin: &mut PgConnection, what: &'static str) -> i64 {
    sqlx::query_scalar(what).fetch_one(admin).await.unwrap()
}

async fn notify(admin: &mut PgConnection, channel: &str, payload: &str) {
    sqlx::query("select pg_notify($1, $2)").bind(channel).bind(payload).execute(admin).await.unwrap();
}

/// Limits the connections of the database, except those of superusers. -1 means no limit.
async fn limit_connections(admin: &mut PgConnection, limit: i32) {
    let limit = format!(
        "do $$ begin execute format('alter database %I connection limit {limit}', current_database()); end $$"
    );
    sqlx::query(AssertSqlSafe(limit)).execute(admin).await.unwrap();
}

async fn next(notifications: &mut Notifications) -> Option<String> {
    let heard = timeout(Duration::from_secs(10), notifications.recv()).await.expect("nothing is heard");
    heard.unwrap().map(|payload| payload.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn all_channels_share_one_connection_which_is_none_of_the_pools() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let db = Db::connect("stock", &DbConfig { max_connections: 1, ..config }).unwrap();
    let mut admin = database.admin().await;
    let mut heard = Vec::new();
    for channel in CHANNELS {
        heard.push(db.listen(channel).await.unwrap());
    }
    let mut again = db.listen(CHANNELS[0]).await.unwrap();
    let busy = db.worker().await.unwrap();
    assert_eq!(count(&mut admin, LISTENING).await, 1);
    for channel in CHANNELS {
        notify(&mut admin, channel, &format!("for {channel}")).await;
    }
    notify(&mut admin, CHANNELS[0], "last").await;
    for (channel, heard) in CHANNELS.iter().zip(&mut heard) {
        assert_eq!(next(heard).await, Some(format!("for {channel}")));
    }
    assert_eq!(next(&mut heard[0]).await.as_deref(), Some("last"));
    assert_eq!(next(&mut again).await.as_deref(), Some("for one"));
    drop(busy);
    drop((heard, again));
    db.close().await;
    eventually("the connection is closed", async || (count(&mut admin, LISTENING).await == 0).then_some(()))
        .await;
    admin.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_cannot_be_made_anew_ends_every_subscription() {
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(vec![])).await;
    let mut admin = database.admin().await;
    let mut heard = [db.listen("one").await.unwrap(), db.listen("two").await.unwrap()];
    limit_connections(&mut admin, 0).await;
    assert_eq!(count(&mut admin, TERMINATE).await, 1);
    for heard in &mut heard {
        timeout(Duration::from_secs(10), heard.recv()).await.expect("nothing is heard").unwrap_err();
    }
    limit_connections(&mut admin, -1).await;
    let mut anew = db.listen("one").await.unwrap();
    notify(&mut admin, "one", "1").await;
    assert_eq!(next(&mut anew).await.as_deref(), Some("1"));
    admin.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_made_anew_and_every_subscriber_is_told() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let proxy = DatabaseProxy::start(database.upstream()).await;
    let mut admin = database.admin().await;
    let database = database.behind(&proxy);
    let db = Db::connect("stock", &DbConfig { url: database.url(), ..config }).unwrap();
    let mut heard = [db.listen("one").await.unwrap(), db.listen("two").await.unwrap()];
    for cut in [true, false] {
        if cut {
            proxy.cut();
            // the connection is closed in the middle of this
            notify(&mut admin, "one", "half of it arrives").await;
        } else {
            assert_eq!(count(&mut admin, TERMINATE).await, 1);
        }
        for heard in &mut heard {
            assert_eq!(next(heard).await, None);
        }
    }
    notify(&mut admin, "two", "2").await;
    assert_eq!(next(&mut heard[1]).await.as_deref(), Some("2"));
    notify(&mut admin, "one", "1").await;
    assert_eq!(next(&mut heard[0]).await.as_deref(), Some("1"));
    admin.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_too_slow_is_told_that_notifications_are_lost() {
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(vec![])).await;
    let mut admin = database.admin().await;
    let mut slow = db.listen("one").await.unwrap();
    let mut fast = db.listen("one").await.unwrap();
    for n in 0..2000 {
        notify(&mut admin, "one", &n.to_string()).await;
        assert_eq!(next(&mut fast).await, Some(n.to_string()));
    }
    assert_eq!(next(&mut slow).await, None);
    assert!(next(&mut slow).await.is_some(), "the newest are still there");
    admin.close().await.unwrap();
}

/// The connection that has locks ends with its process.
#[tokio::test(flavor = "multi_thread")]
async fn one_process_has_a_lock_and_the_next_one_when_its_connection_is_gone() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let [one, other] = [(); 2].map(|()| Db::connect("stock", &config).unwrap());
    let mut lock = one.lock("a").await.unwrap().unwrap();
    assert!(one.lock("a").await.unwrap().is_none(), "twice in one process");
    assert!(other.lock("a").await.unwrap().is_none(), "in two processes");
    drop(other.lock("b").await.unwrap().unwrap());
    eventually("a dropped lock is free", async || one.lock("b").await.unwrap().map(drop)).await;

    // as when the process is killed
    let mut admin = database.admin().await;
    let backends =
        "select count(pg_terminate_backend(a.pid)) from pg_locks l join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and a.datname = current_database()";
    assert_eq!(count(&mut admin, backends).await, 1);
    timeout(Duration::from_secs(10), lock.lost()).await.expect("the loss is not noticed");
    let taken = eventually("the lock is free", async || other.lock("a").await.unwrap()).await;
    // releasing a lock that was lost does not release that of its new owner
    drop(lock);
    assert!(one.lock("a").await.unwrap().is_none());
    drop(taken);
}
