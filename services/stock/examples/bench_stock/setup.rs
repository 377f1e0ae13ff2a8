//! Setup of the benchmarks of this service.

use std::{collections::BTreeMap, net::SocketAddr};

use atelier_stock::{Config, MIGRATIONS, NAME, StockConfig};
use auth::AuthConfig;
use db::DbConfig;
use provision::{Passwords, provision};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};
use testkit::callers;

/// A new database with the service's schema, and the configuration of the service on it.
pub(crate) async fn fresh(
    admin: &PgConnectOptions,
    database: &str,
    auth: AuthConfig,
) -> (PgConnection, Config) {
    let mut conn = PgConnection::connect_with(admin).await.unwrap();
    for statement in
        [format!("drop database if exists {database} with (force)"), format!("create database {database}")]
    {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut conn).await.unwrap();
    }
    let mut conn = PgConnection::connect_with(&admin.clone().database(database)).await.unwrap();
    let password = || SecretString::from("bench");
    let passwords = Passwords { owner: password(), app: password(), worker: password() };
    provision(&mut conn, NAME, &passwords).await.unwrap();
    let database = DbConfig {
        url: format!("postgres://{}:{}/{database}", admin.get_host(), admin.get_port()),
        app_password: password(),
        worker_password: password(),
        owner_password: Some(password()),
        max_connections: 10,
        heal_seconds: 60,
    };
    database.migrate(NAME, &MIGRATIONS).await.unwrap();
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        database,
        auth,
        callers: callers(),
        clusters: BTreeMap::new(),
        stock: StockConfig::default(),
        audit: audit::RetentionConfig::default(),
        cache: None,
        telemetry: None,
    };
    (conn, config)
}
