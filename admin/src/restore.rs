//! `restore`: a backup becomes the database of the services, while clusters and consumers are ahead of it.
//!
//! Services cannot connect from the beginning of a restore until `after_restore` of each schema
//! (migrations/*/*_restores.sql) has prepared the restored rows: they would grant occupied units, and
//! consumers would miss what they publish.

use std::path::Path;

use anyhow::{bail, ensure};
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{
    Config,
    backup::{DUMP, Manifest},
    config::{Login, Target},
    postgres,
    schemas::{self, Age},
};

/// The result of a restore.
#[derive(Debug)]
pub enum Restored {
    /// The services can be started.
    Ready,
    /// The backup is of an earlier release: its schemas have to be migrated first, then [`prepare`] has to be called.
    NeedsMigrations,
}

/// Restores a backup. `replace` deletes the schemas that exist.
///
/// # Errors
/// If the backup is damaged or of a later release, the database has schemas, or a service is connected.
pub async fn restore(
    config: &Config,
    folder: &Path,
    replace: bool,
    now: Timestamp,
) -> anyhow::Result<Restored> {
    let manifest = Manifest::verified(folder)?;
    let age = schemas::compare(&manifest.migrations)?;
    let (login, target) = (config.database.superuser()?, config.database.target()?);
    let mut conn = config.database.connect(&login).await?;
    let names: Vec<&str> = manifest.migrations.keys().map(String::as_str).collect();
    refuse_missing_roles(&mut conn, &names).await?;
    let existing = schemas::existing(&mut conn).await?;
    if !replace {
        let tables = count_tables(&mut conn, &existing).await?;
        ensure!(
            tables == 0,
            "the database has {tables} tables in {}: restore into an empty database, or delete them with --replace",
            existing.join(", ")
        );
    }
    let all = [names.as_slice(), &existing].concat();
    lock_out(&mut conn, &target, &all).await?;
    for schema in &existing {
        // the name is one of SCHEMAS
        sqlx::raw_sql(AssertSqlSafe(format!("drop schema {schema} cascade"))).execute(&mut conn).await?;
    }
    load(&target, &login, folder).await?;
    if age == Age::Older {
        conn.close().await?;
        return Ok(Restored::NeedsMigrations);
    }
    prepare_on(&mut conn, now).await?;
    conn.close().await?;
    Ok(Restored::Ready)
}

/// Prepares a database for the services after it was restored by other means (point-in-time recovery), or from a backup of an
/// earlier release.
///
/// # Errors
/// If the schemas are not those of this release, or a service is connected.
pub async fn prepare(config: &Config, now: Timestamp) -> anyhow::Result<()> {
    let (login, target) = (config.database.superuser()?, config.database.target()?);
    let mut conn = config.database.connect(&login).await?;
    let existing = schemas::existing(&mut conn).await?;
    lock_out(&mut conn, &target, &existing).await?;
    let age = schemas::compare(&schemas::migrations(&mut conn).await?)?;
    ensure!(age == Age::Current, "run `migrate` of each service first: migrations are missing");
    prepare_on(&mut conn, now).await?;
    conn.close().await?;
    Ok(())
}

async fn load(target: &Target, login: &Login, folder: &Path) -> anyhow::Result<()> {
    let dump = folder.join(DUMP).display().to_string();
    postgres::run("pg_restore", target, login, &["--exit-on-error", "--single-transaction", &dump]).await
}

async fn count_tables(conn: &mut PgConnection, schemas: &[&str]) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from pg_tables where schemaname = any($1)")
        .bind(schemas)
        .fetch_one(conn)
        .await
}

/// The roles of the services that connect while they run.
fn running_roles(schemas: &[&str]) -> Vec<String> {
    let of = |schema: &&str| ["app", "worker"].map(|role| format!("atelier_{schema}_{role}"));
    let mut roles: Vec<String> = schemas.iter().flat_map(of).collect();
    roles.sort();
    roles.dedup();
    roles
}

/// The roles that run migrations.
fn owners(schemas: &[&str]) -> Vec<String> {
    schemas.iter().map(|schema| format!("atelier_{schema}_owner")).collect()
}

async fn refuse_missing_roles(conn: &mut PgConnection, schemas: &[&str]) -> anyhow::Result<()> {
    let mut roles = running_roles(schemas);
    roles.extend(owners(schemas));
    let missing: Vec<String> = sqlx::query_scalar(
        "select name from unnest($1::text[]) as name where not exists (select from pg_roles where rolname = name)
         order by name",
    )
    .bind(&roles)
    .fetch_all(conn)
    .await?;
    if !missing.is_empty() {
        bail!("run atelier-provision first: the server has no role {}", missing.join(", "));
    }
    Ok(())
}

/// Forbids the services to connect, and fails while one is connected.
async fn lock_out(conn: &mut PgConnection, target: &Target, schemas: &[&str]) -> anyhow::Result<()> {
    let roles = running_roles(schemas);
    // as atelier-provision leaves a database: otherwise everyone may connect
    change_connect(&mut *conn, "revoke", "from", &["public".to_owned()]).await?;
    change_connect(&mut *conn, "grant", "to", &owners(schemas)).await?;
    change_connect(&mut *conn, "revoke", "from", &roles).await?;
    let connected: i64 =
        sqlx::query_scalar("select count(*) from pg_stat_activity where datname = $1 and usename = any($2)")
            .bind(&target.database)
            .bind(&roles)
            .fetch_one(&mut *conn)
            .await?;
    if connected > 0 {
        change_connect(&mut *conn, "grant", "to", &roles).await?;
        bail!("{connected} connections of services are open: stop all services first");
    }
    Ok(())
}

async fn change_connect(
    conn: &mut PgConnection,
    verb: &str,
    preposition: &str,
    roles: &[String],
) -> sqlx::Result<()> {
    let database: String =
        sqlx::query_scalar("select quote_ident(current_database())").fetch_one(&mut *conn).await?;
    // names of services' roles, of letters and underscores
    let statement = format!("{verb} connect on database {database} {preposition} {}", roles.join(", "));
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(conn).await.map(drop)
}

async fn prepare_on(conn: &mut PgConnection, now: Timestamp) -> anyhow::Result<()> {
    let schemas = schemas::existing(&mut *conn).await?;
    let mut tx = conn.begin().await?;
    for schema in &schemas {
        // the name is one of SCHEMAS
        sqlx::query(AssertSqlSafe(format!("select {schema}.after_restore($1)")))
            .bind(now.as_second())
            .execute(&mut *tx)
            .await?;
    }
    change_connect(&mut tx, "grant", "to", &running_roles(&schemas)).await?;
    tx.commit().await?;
    // statistics are not part of a dump
    sqlx::raw_sql("analyze").execute(conn).await?;
    Ok(())
}
