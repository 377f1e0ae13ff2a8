//! Statistics of Postgres.

use sqlx::{Connection as _, PgConnection};
use testkit::TestDb;

/// Where the databases are made.
pub(crate) fn fresh() -> TestDb {
    TestDb::at(&url())
}

fn url() -> String {
    std::env::var("BENCH_POSTGRES").expect("BENCH_POSTGRES: run it with `cargo xtask bench`")
}

/// Transactions of the whole server that have written, and the size of its log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) writes: f64,
    pub(crate) wal_kib: f64,
}

impl Written {
    pub(crate) async fn now(conn: &mut PgConnection) -> Self {
        let row = sqlx::query_as(
            "select pg_snapshot_xmax(pg_current_snapshot())::text::float8,
                    (pg_current_wal_insert_lsn() - '0/0')::float8 / 1024",
        );
        let (writes, wal_kib) = row.fetch_one(conn).await.unwrap();
        Self { writes, wal_kib }
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self { writes: self.writes - other.writes, wal_kib: self.wal_kib - other.wal_kib }
    }
}

/// Transactions of a database, after the end of all connections to it, which report their statistics by then.
pub(crate) async fn transactions(database: &str) -> f64 {
    // in another database, so that these transactions are not counted
    let mut conn = PgConnection::connect(&url()).await.unwrap();
    loop {
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1";
        let ended: i64 = sqlx::query_scalar(end).bind(database).fetch_one(&mut conn).await.unwrap();
        if ended == 0 {
            break;
        }
    }
    let count = "select (xact_commit + xact_rollback)::float8 from pg_stat_database where datname = $1";
    let count = sqlx::query_scalar(count).bind(database).fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    count
}
