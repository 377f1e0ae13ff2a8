//! A database of its own for each test, on the Postgres that `cargo xtask test` started.

use db::{Db, DbConfig};
use provision::{Passwords, provision};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, PgConnection, migrate::Migrator, postgres::PgConnectOptions};
use uuid::Uuid;

/// A fresh database, with the roles of the services that were asked for. Dropped at the end.
#[derive(Debug)]
pub struct TestDb {
    name: String,
    admin: PgConnectOptions,
    runtime: tokio::runtime::Handle,
}

impl TestDb {
    /// An empty database. The address of a superuser comes from `TEST_POSTGRES`.
    pub async fn new() -> Self {
        let url = std::env::var("TEST_POSTGRES")
            .expect("TEST_POSTGRES is not set: run the tests with `cargo xtask test`");
        let admin: PgConnectOptions = url.parse().unwrap();
        let name = format!("test_{}", Uuid::now_v7().simple());
        let mut conn = PgConnection::connect_with(&admin).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("create database {name}"))).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        Self { name, admin, runtime: tokio::runtime::Handle::current() }
    }

    /// A superuser's connection to it, for looking at what services must not see.
    pub async fn admin(&self) -> PgConnection {
        PgConnection::connect_with(&self.admin.clone().database(&self.name)).await.unwrap()
    }

    /// Waits until somebody waits for a lock in it: what a test holds up has come that far.
    pub async fn a_lock_is_waited_for(&self) {
        let mut conn = self.admin().await;
        crate::eventually("somebody waits for a lock", async || {
            let waits = "select exists(select from pg_stat_activity
                         where datname = current_database() and wait_event_type = 'Lock')";
            let waits: bool = sqlx::query_scalar(waits).fetch_one(&mut conn).await.unwrap();
            waits.then_some(())
        })
        .await;
        conn.close().await.unwrap();
    }

    /// Makes the roles and schema of `service`, migrates it, and gives the configuration to reach it.
    pub async fn service(&self, service: &'static str, migrations: &Migrator) -> DbConfig {
        let password = || SecretString::from("test");
        let passwords = Passwords { owner: password(), app: password(), worker: password() };
        let mut admin = self.admin().await;
        provision(&mut admin, service, &passwords).await.unwrap();
        admin.close().await.unwrap();
        let config = DbConfig {
            url: format!("postgres://{}:{}/{}", self.admin.get_host(), self.admin.get_port(), self.name),
            app_password: password(),
            worker_password: password(),
            owner_password: Some(password()),
            max_connections: 10,
        };
        config.migrate(service, migrations).await.unwrap();
        config
    }

    /// As [`Self::service`], with the pools opened.
    pub async fn open(&self, service: &'static str, migrations: &Migrator) -> (DbConfig, Db) {
        let config = self.service(service, migrations).await;
        let db = Db::connect(service, &config).unwrap();
        (config, db)
    }
}

impl Drop for TestDb {
    /// Begins the removal; the runtime of the test waits for its end when it is dropped itself. To wait here
    /// would stop a runtime of one thread, and a connection it had half made would be held against the
    /// removal until the server gives it up, after a minute.
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), std::mem::take(&mut self.name));
        let (begun, begins) = std::sync::mpsc::channel();
        self.runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            // a runtime of its own: the test's may be shutting down
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut conn = PgConnection::connect_with(&admin).await.unwrap();
                let statement = AssertSqlSafe(format!("drop database {name} with (force)"));
                sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
                conn.close().await.unwrap();
            });
        });
        // what has not begun when the runtime shuts down never does
        if begins.recv().is_err() && !std::thread::panicking() {
            panic!("the test's database outlived its runtime, and is left over");
        }
    }
}
