//! Creates the roles and the schema of a service, as a database administrator.
//!
//! No service may be named here, and no table: those are in the migrations, which run as the owner of the schema.

use std::{collections::BTreeMap, path::Path};

use figment::{
    Figment,
    providers::{Env, Format, Toml},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction, postgres::PgConnectOptions};

/// Name of the role that reads all rows and writes nothing.
pub const READER: &str = "atelier_reader";

/// The passwords of a service's three roles.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passwords {
    /// Password of the role `owner`.
    pub owner: SecretString,
    /// Password of the role `app`.
    pub app: SecretString,
    /// Password of the role `worker`.
    pub worker: SecretString,
}

/// Configuration of the program `atelier-provision`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `postgres://host:port/database`, without user and password. The database must exist.
    pub url: String,
    /// A superuser.
    pub user: String,
    /// Password of the superuser.
    pub password: SecretString,
    /// Passwords of each service's roles, by the service's name.
    pub passwords: BTreeMap<String, Passwords>,
    /// Password of the role `atelier_reader`, for `atelier-admin`. Without one the role is not created.
    #[serde(default)]
    pub reader_password: Option<SecretString>,
}

impl Config {
    /// Reads the file, if one is given, and the environment: `ATELIER_PASSWORDS__GPU__OWNER` is `passwords.gpu.owner`.
    ///
    /// # Errors
    /// Names the key that is missing, unknown or invalid.
    pub fn load(file: Option<&Path>) -> anyhow::Result<Self> {
        let mut figment = Figment::new();
        if let Some(file) = file {
            anyhow::ensure!(file.exists(), "the configuration file {} does not exist", file.display());
            figment = figment.merge(Toml::file_exact(file));
        }
        Ok(figment.merge(Env::prefixed("ATELIER_").split("__")).extract()?)
    }

    /// Creates the roles and schemas of all services. Repeatable.
    ///
    /// # Errors
    /// As [`provision`], or if the database cannot be reached.
    pub async fn apply(&self) -> anyhow::Result<()> {
        let options: PgConnectOptions = self.url.parse()?;
        let options = options.username(&self.user).password(self.password.expose_secret());
        let mut admin = PgConnection::connect_with(&options).await?;
        for (service, passwords) in &self.passwords {
            provision(&mut admin, service, passwords).await?;
        }
        if let Some(password) = &self.reader_password {
            provision_reader(&mut admin, password).await?;
        }
        admin.close().await?;
        Ok(())
    }
}

/// Creates the roles and the schema of `service` in the database of `admin`, a superuser's connection. Repeatable.
///
/// # Errors
/// If the name of the service is not plain lower-case letters, or a statement fails.
pub async fn provision(admin: &mut PgConnection, service: &str, passwords: &Passwords) -> anyhow::Result<()> {
    anyhow::ensure!(
        !service.is_empty() && service.bytes().all(|b| b.is_ascii_lowercase()),
        "invalid service name {service:?}"
    );
    let mut tx = begin(admin).await?;
    for (role, password) in
        [("owner", &passwords.owner), ("app", &passwords.app), ("worker", &passwords.worker)]
    {
        create_role(&mut tx, &format!("atelier_{service}_{role}"), "nobypassrls noinherit", password).await?;
    }
    let database: String =
        sqlx::query_scalar("select quote_ident(current_database())").fetch_one(&mut *tx).await?;
    for statement in [
        format!("revoke all on database {database} from public"),
        "revoke all on schema public from public".to_owned(),
        format!(
            "grant connect on database {database} to atelier_{service}_owner, atelier_{service}_app, atelier_{service}_worker"
        ),
        format!("create schema if not exists {service} authorization atelier_{service}_owner"),
        format!("grant usage on schema {service} to atelier_{service}_app, atelier_{service}_worker"),
        format!(
            "alter default privileges for role atelier_{service}_owner in schema {service} \
             grant select, insert, update, delete on tables to atelier_{service}_app, atelier_{service}_worker"
        ),
        format!(
            "alter default privileges for role atelier_{service}_owner in schema {service} \
             grant usage, select on sequences to atelier_{service}_app, atelier_{service}_worker"
        ),
    ] {
        execute(&mut tx, statement).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Creates the role `atelier_reader`, which reads all rows of all services and writes nothing: for backups and for the
/// verification of invariants. Repeatable.
///
/// # Errors
/// If a statement fails.
pub async fn provision_reader(admin: &mut PgConnection, password: &SecretString) -> anyhow::Result<()> {
    let mut tx = begin(admin).await?;
    create_role(&mut tx, READER, "bypassrls inherit", password).await?;
    let database: String =
        sqlx::query_scalar("select quote_ident(current_database())").fetch_one(&mut *tx).await?;
    for statement in [
        format!("grant pg_read_all_data to {READER}"),
        format!("alter role {READER} set default_transaction_read_only = on"),
        format!("grant connect on database {database} to {READER}"),
    ] {
        execute(&mut tx, statement).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Begins a transaction that creates roles.
async fn begin(admin: &mut PgConnection) -> sqlx::Result<Transaction<'_, Postgres>> {
    let mut tx = admin.begin().await?;
    // two runs in two databases must not change the same role at the same time: roles belong to the server, advisory
    // locks to one database
    sqlx::query("lock table pg_catalog.pg_authid in share row exclusive mode").execute(&mut *tx).await?;
    Ok(tx)
}

/// Creates a role that signs in with a password, or changes it to be so.
async fn create_role(
    conn: &mut PgConnection,
    name: &str,
    attributes: &str,
    password: &SecretString,
) -> sqlx::Result<()> {
    let exists: bool = sqlx::query_scalar("select exists(select from pg_roles where rolname = $1)")
        .bind(name)
        .fetch_one(&mut *conn)
        .await?;
    if !exists {
        execute(conn, format!("create role {name}")).await?;
    }
    let quoted: String = sqlx::query_scalar("select quote_literal($1)")
        .bind(password.expose_secret())
        .fetch_one(&mut *conn)
        .await?;
    let statement =
        format!("alter role {name} login nosuperuser nocreatedb nocreaterole {attributes} password {quoted}");
    execute(conn, statement).await?;
    // JIT compilation of a service's query takes longer than the query, and keeps LLVM, 70 MiB, in its
    // connection
    execute(conn, format!("alter role {name} set jit = off")).await
}

/// Runs a statement built from a checked service name and quoted values.
async fn execute(conn: &mut PgConnection, statement: String) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(conn).await.map(drop)
}
