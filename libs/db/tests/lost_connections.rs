//! Connections that Postgres ends, or that are cut in the middle of a message, during transactions: each error says that the
//! database is not available.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use api::{Problem, ProblemType};
use atelier_db::{Db, DbConfig};
use futures::future::{join_all, try_join_all};
use sqlx::migrate::Migrator;
use testkit::{DatabaseProxy, SlowProxy, TestDb, within};
use tokio::sync::watch;

/// Connections of a pool.
const CONNECTIONS: u32 = 4;
/// How long an answer takes.
const ROUND_TRIP: Duration = Duration::from_millis(300);
/// Transactions of each task, and tasks.
const TRANSACTIONS: usize = 80;
const TASKS: usize = 8;
/// Transactions that end between two losses: more than run concurrently, so that some succeed.
const BETWEEN_LOSSES: usize = 10;

/// A transaction like those of requests: settings, prepared statements with many rows, a write, a commit.
async fn transaction(db: &Db) -> sqlx::Result<()> {
    let mut tx = db.admin().await?;
    for rows in [3, 1, 300] {
        let read: Vec<String> = sqlx::query_scalar("select repeat('x', 100) from generate_series(1, $1)")
            .bind(rows)
            .fetch_all(&mut *tx)
            .await?;
        assert_eq!(i64::try_from(read.len()), Ok(i64::from(rows)));
    }
    let one: i32 = sqlx::query_scalar("select 1").fetch_one(&mut *tx).await?;
    assert_eq!(one, 1);
    tx.commit().await
}

/// Counts the errors of transactions, by kind, while `lose` ends connections again and again.
async fn errors(db: &Db, lose: impl AsyncFn()) -> BTreeMap<String, usize> {
    let ended = watch::Sender::new(0);
    let work = join_all((0..TASKS).map(async |_| {
        let mut errors = Vec::new();
        for _ in 0..TRANSACTIONS {
            errors.extend(transaction(db).await.err());
            ended.send_modify(|ended| *ended += 1);
        }
        errors
    }));
    let losses = async {
        let mut ended = ended.subscribe();
        for loss in 1.. {
            let _ = ended.wait_for(|ended| *ended >= loss * BETWEEN_LOSSES).await;
            lose().await;
        }
    };
    let errors = tokio::select! {
        errors = work => errors,
        () = losses => unreachable!("connections are lost until all is done"),
    };
    let mut kinds = BTreeMap::new();
    for error in errors.into_iter().flatten() {
        let kind = match error.as_database_error().and_then(|error| error.code()) {
            Some(code) => code.into_owned(),
            None => format!("{error:?}"),
        };
        let problem = Problem::from(error);
        assert!(problem.is(ProblemType::Unavailable), "{kind}: {problem}");
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_terminated_connection_is_unavailable() {
    let database = TestDb::new();
    let (_, db) = database.open("stock", &Migrator::with_migrations(vec![])).await;
    let admin = tokio::sync::Mutex::new(database.admin().await);
    let errors = errors(&db, async || {
        let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity
            where datname = current_database() and usename like 'atelier_%'";
        let _: i64 = sqlx::query_scalar(terminate).fetch_one(&mut *admin.lock().await).await.unwrap();
    })
    .await;
    assert!(errors.values().sum::<usize>() > 20, "{errors:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_cut_connection_is_unavailable() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let proxy = DatabaseProxy::start(database.upstream()).await;
    let database = database.behind(&proxy);
    let db = Db::connect("stock", &DbConfig { url: database.url(), ..config }).unwrap();
    let errors = errors(&db, async || proxy.cut()).await;
    assert!(errors.values().sum::<usize>() > 20, "{errors:#?}");
}

/// Opens the maximum number of connections, and releases them.
async fn open_all(db: &Db) -> sqlx::Result<()> {
    for tx in try_join_all((0..CONNECTIONS).map(|_| db.platform())).await? {
        tx.commit().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_begins_on_another_connection_if_its_own_was_lost() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let proxy = DatabaseProxy::start(database.upstream()).await;
    let database = database.behind(&proxy);
    let config = DbConfig { url: database.url(), max_connections: CONNECTIONS, ..config };
    let db = Db::connect("stock", &config).unwrap();
    for _ in 0..20 {
        open_all(&db).await.unwrap();
        proxy.cut();
        db.platform().await.expect("a transaction begins");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_begins_with_one_round_trip() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let proxy = SlowProxy::start(database.upstream()).await;
    let url = format!("postgres://{}/{}", proxy.address(), database.url().rsplit('/').next().unwrap());
    let db = Db::connect("stock", &DbConfig { url, max_connections: CONNECTIONS, ..config }).unwrap();
    within(Duration::from_secs(20), "one answer is waited for", async || {
        open_all(&db).await.unwrap();
        proxy.hold_back(ROUND_TRIP);
        let begun = Instant::now();
        let tx = db.platform().await.unwrap();
        let took = begun.elapsed();
        proxy.hold_back(Duration::ZERO);
        drop(tx);
        // a busy machine needs longer
        (took < ROUND_TRIP * 2).then_some(())
    })
    .await;
}
