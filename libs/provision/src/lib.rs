//! Creates the roles and the schema of a service, as a database administrator.

use secrecy::{ExposeSecret, SecretString};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// The passwords of a service's three roles.
#[derive(Debug, Clone)]
pub struct Passwords {
    /// Of the role `owner`.
    pub owner: SecretString,
    /// Of the role `app`.
    pub app: SecretString,
    /// Of the role `worker`.
    pub worker: SecretString,
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
    let mut tx = admin.begin().await?;
    // two runs in two databases must not change the same role at the same time: roles belong to the server, advisory
    // locks to one database
    sqlx::query("lock table pg_catalog.pg_authid in share row exclusive mode").execute(&mut *tx).await?;
    for (role, password) in
        [("owner", &passwords.owner), ("app", &passwords.app), ("worker", &passwords.worker)]
    {
        let name = format!("atelier_{service}_{role}");
        let exists: bool = sqlx::query_scalar("select exists(select from pg_roles where rolname = $1)")
            .bind(&name)
            .fetch_one(&mut *tx)
            .await?;
        if !exists {
            execute(&mut tx, format!("create role {name}")).await?;
        }
        let quoted: String = sqlx::query_scalar("select quote_literal($1)")
            .bind(password.expose_secret())
            .fetch_one(&mut *tx)
            .await?;
        execute(
            &mut tx,
            format!(
                "alter role {name} login nosuperuser nocreatedb nocreaterole nobypassrls noinherit \
                 password {quoted}"
            ),
        )
        .await?;
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

/// Runs a statement built from a checked service name and quoted values.
async fn execute(conn: &mut PgConnection, statement: String) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(conn).await.map(drop)
}
