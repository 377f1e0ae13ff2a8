//! A transaction that is cancelled while it begins, as when the client of a request disconnects.

use std::{future::poll_fn, pin::pin, task::Poll};

use atelier_db::{Db, DbConfig};
use sqlx::migrate::Migrator;
use testkit::TestDb;

/// Begins a transaction and drops it after it has been polled `times` times. Returns whether it had begun.
async fn cut_off(db: &Db, times: usize) -> bool {
    let mut begin = pin!(db.platform());
    let mut polls = 0;
    poll_fn(|context| {
        if polls == times {
            return Poll::Ready(false);
        }
        polls += 1;
        begin.as_mut().poll(context).map(|begun| begun.is_ok())
    })
    .await
}

#[tokio::test]
async fn a_begin_that_is_cut_off_leaves_no_transaction_open() {
    let database = TestDb::new();
    let config = database.service("stock", &Migrator::with_migrations(vec![])).await;
    let mut admin = database.admin().await;
    // the next statement uses the connection of the transaction
    let db = Db::connect("stock", &DbConfig { max_connections: 1, ..config }).unwrap();
    db.ping().await.unwrap();
    let mut times = 1;
    while !cut_off(&db, times).await {
        db.ping().await.unwrap();
        let states = "select state from pg_stat_activity where usename = 'atelier_stock_app'
            and datname = current_database()";
        let state: String = sqlx::query_scalar(states).fetch_one(&mut admin).await.unwrap();
        assert_eq!(state, "idle", "after {times} polls");
        times += 1;
        assert!(times < 100, "a transaction never begins");
    }
    assert!(times > 1, "no transaction was cut off");
}
