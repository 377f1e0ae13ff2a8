//! A separate database for each test, on the Postgres that `cargo xtask test` started.

mod template;

use std::net::SocketAddr;

use db::{Db, DbConfig};
use provision::{Passwords, provision};
use secrecy::SecretString;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, PgConnection, migrate::Migrator, postgres::PgConnectOptions,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::DatabaseProxy;

/// A new database, with the roles of the requested services. It is created when it is first used; `Drop` removes it.
#[derive(Debug)]
pub struct TestDb {
    name: String,
    admin: PgConnectOptions,
    /// The services that have a schema in it.
    created: OnceCell<Vec<&'static str>>,
    /// Address that services connect to, if not Postgres itself.
    address: Option<SocketAddr>,
    runtime: tokio::runtime::Handle,
}

impl TestDb {
    /// A database on the Postgres of `TEST_POSTGRES`, which is the URL of a superuser.
    #[must_use]
    pub fn new() -> Self {
        let url = std::env::var("TEST_POSTGRES")
            .expect("TEST_POSTGRES is not set: run the tests with `cargo xtask test`");
        Self::at(&url)
    }

    /// As [`Self::new`], on the Postgres at this URL of a superuser.
    #[must_use]
    pub fn at(url: &str) -> Self {
        let admin: PgConnectOptions = url.parse().unwrap();
        let name = format!("test_{}", Uuid::now_v7().simple());
        let runtime = tokio::runtime::Handle::current();
        Self { name, admin, created: OnceCell::new(), address: None, runtime }
    }

    /// Creates the database, empty unless there is one already.
    async fn create(&self) {
        self.created
            .get_or_init(async || {
                let mut conn = PgConnection::connect_with(&self.admin).await.unwrap();
                execute(&mut conn, format!("create database {}", self.name)).await;
                conn.close().await.unwrap();
                Vec::new()
            })
            .await;
    }

    /// From here on the configurations of services have the address of this proxy. Connections of the test do not use it.
    #[must_use]
    pub fn behind(mut self, proxy: &DatabaseProxy) -> Self {
        self.address = Some(proxy.address());
        self
    }

    /// The address of Postgres.
    #[must_use]
    pub fn upstream(&self) -> String {
        format!("{}:{}", self.admin.get_host(), self.admin.get_port())
    }

    /// A superuser's connection to the database, which sees what services must not see.
    pub async fn admin(&self) -> PgConnection {
        self.create().await;
        PgConnection::connect_with(&self.admin.clone().database(&self.name)).await.unwrap()
    }

    /// Waits until a query in the database waits for a lock, such as one that the test holds.
    pub async fn wait_for_blocked_query(&self) {
        let mut conn = self.admin().await;
        crate::eventually("a query waits for a lock", async || {
            let waits = "select exists(select from pg_stat_activity
                         where datname = current_database() and wait_event_type = 'Lock')";
            let waits: bool = sqlx::query_scalar(waits).fetch_one(&mut conn).await.unwrap();
            waits.then_some(())
        })
        .await;
        conn.close().await.unwrap();
    }

    /// Creates the database with the schemas of these services, from a template, unless there is one already. Returns the services
    /// that it was created with.
    pub async fn create_with(&self, services: &[(&'static str, &Migrator)]) -> &[&'static str] {
        self.created
            .get_or_init(async || {
                template::clone(&self.admin, &self.name, services).await;
                services.iter().map(|(service, _)| *service).collect()
            })
            .await
    }

    /// Returns the configuration of `service`. Its roles and schema are created and migrated, unless the database was created with
    /// them.
    pub async fn service(&self, service: &'static str, migrations: &Migrator) -> DbConfig {
        let config = config(self.url());
        if !self.create_with(&[(service, migrations)]).await.contains(&service) {
            let mut admin = self.admin().await;
            provision(&mut admin, service, &passwords()).await.unwrap();
            admin.close().await.unwrap();
            config.migrate(service, migrations).await.unwrap();
        }
        config
    }

    /// `postgres://host:port/database` of the database.
    #[must_use]
    pub fn url(&self) -> String {
        let address = self.address.map_or_else(|| self.upstream(), |address| address.to_string());
        format!("postgres://{address}/{}", self.name)
    }

    /// Name and password of a superuser.
    #[must_use]
    pub fn superuser(&self) -> (String, SecretString) {
        let url = self.admin.to_url_lossy();
        (url.username().to_owned(), url.password().unwrap_or_default().into())
    }

    /// Creates the role of `atelier-admin` that reads everything. Its password is `test`.
    pub async fn reader(&self) {
        let mut admin = self.admin().await;
        provision::provision_reader(&mut admin, &SecretString::from("test")).await.unwrap();
        admin.close().await.unwrap();
    }

    /// As [`Self::service`], and opens the pools.
    pub async fn open(&self, service: &'static str, migrations: &Migrator) -> (DbConfig, Db) {
        let config = self.service(service, migrations).await;
        let db = Db::connect(service, &config).unwrap();
        (config, db)
    }
}

fn passwords() -> Passwords {
    let password = || SecretString::from("test");
    Passwords { owner: password(), app: password(), worker: password() }
}

fn config(url: String) -> DbConfig {
    let Passwords { owner, app, worker } = passwords();
    DbConfig {
        url,
        app_password: app,
        worker_password: worker,
        owner_password: Some(owner),
        max_connections: 10,
        // tests change rows manually
        heal_seconds: 2,
    }
}

/// Runs one statement or several, which are built from names of this crate.
async fn execute(conn: &mut PgConnection, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(conn).await.unwrap();
}

impl Default for TestDb {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestDb {
    /// Starts the removal; the test's runtime waits for its end when it is dropped. Waiting here would block a
    /// single-threaded runtime, and a connection that it has half established would block the removal until the
    /// server closes it, after a minute.
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), std::mem::take(&mut self.name));
        let (begun, begins) = std::sync::mpsc::channel();
        self.runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            // a separate runtime: the test's may be shutting down
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut conn = PgConnection::connect_with(&admin).await.unwrap();
                execute(&mut conn, format!("drop database if exists {name} with (force)")).await;
                conn.close().await.unwrap();
            });
        });
        // a task that has not started when the runtime shuts down never starts
        if begins.recv().is_err() && !std::thread::panicking() {
            panic!("the test's database outlived its runtime and was not removed");
        }
    }
}
