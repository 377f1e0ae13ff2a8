//! The schemas of the services and their migrations.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, PgConnection, migrate::Migrator};

/// The services with a schema, in the order of the list of services.
pub(crate) static SCHEMAS: &[(&str, Migrator)] = include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// Columns of a table whose rows are a queue (`libs/db`).
const OF_A_QUEUE: [&str; 4] = ["wake_at", "lease_owner", "lease_until", "failures"];

/// The services with a schema and their migrations, in the order of the list of services.
#[must_use]
pub fn all() -> Vec<(&'static str, &'static Migrator)> {
    SCHEMAS.iter().map(|(name, migrations)| (*name, migrations)).collect()
}

/// A migration that a schema has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Applied {
    pub(crate) version: i64,
    /// Hash of its text, in hexadecimal.
    pub(crate) checksum: String,
}

/// The migrations of each schema that exists.
pub(crate) type Migrations = BTreeMap<String, Vec<Applied>>;

/// Returns the schemas that exist.
pub(crate) async fn existing(conn: &mut PgConnection) -> sqlx::Result<Vec<&'static str>> {
    let names: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
    let found: Vec<String> =
        sqlx::query_scalar("select nspname::text from pg_namespace where nspname = any($1)")
            .bind(&names)
            .fetch_all(conn)
            .await?;
    Ok(names.into_iter().filter(|name| found.iter().any(|found| found == name)).collect())
}

/// Returns the row queues of the schemas: tables with their schema.
pub(crate) async fn queues(conn: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    let schemas: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
    sqlx::query_scalar(
        "select n.nspname || '.' || c.relname from pg_class c
         join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
         where n.nspname = any($1) and c.relkind = 'r' and a.attname = any($2)
         group by n.nspname, c.relname having count(*) = cardinality($2) order by 1",
    )
    .bind(schemas)
    .bind(OF_A_QUEUE.as_slice())
    .fetch_all(conn)
    .await
}

/// Returns the migrations of each schema that exists.
pub(crate) async fn migrations(conn: &mut PgConnection) -> sqlx::Result<Migrations> {
    let mut all = Migrations::new();
    for schema in existing(&mut *conn).await? {
        // the name is one of SCHEMAS
        let sql = format!(
            "select version, encode(checksum, 'hex') from {schema}._sqlx_migrations where success order by version"
        );
        let rows: Vec<(i64, String)> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
        let applied = rows.into_iter().map(|(version, checksum)| Applied { version, checksum });
        all.insert(schema.to_owned(), applied.collect());
    }
    Ok(all)
}

/// Whether migrations are missing that this program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// All are there.
    Current,
    /// The services have to migrate the schema.
    Older,
}

/// Compares migrations with those of this program.
///
/// # Errors
/// If there are some that this program does not have, or that differ.
pub(crate) fn compare(found: &Migrations) -> anyhow::Result<Age> {
    let mut age = Age::Current;
    for (schema, applied) in found {
        let known = SCHEMAS.iter().find(|(name, _)| name == schema);
        let (_, known) = known.ok_or_else(|| anyhow::anyhow!("the schema {schema:?} is not known"))?;
        let known: BTreeMap<i64, String> =
            known.iter().map(|one| (one.version, hex::encode(&one.checksum))).collect();
        for migration in applied {
            let version = migration.version;
            match known.get(&version) {
                None => anyhow::bail!(
                    "migration {version} of {schema} is newer than this program: use the release that wrote the backup, \
                     or a later one"
                ),
                Some(checksum) => ensure!(
                    *checksum == migration.checksum,
                    "migration {version} of {schema} is another one than this program's"
                ),
            }
        }
        if applied.len() < known.len() {
            age = Age::Older;
        }
    }
    Ok(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Migrations {
        let applied = |migrator: &Migrator| {
            let one = |one: &sqlx::migrate::Migration| Applied {
                version: one.version,
                checksum: hex::encode(&one.checksum),
            };
            migrator.iter().map(one).collect()
        };
        SCHEMAS.iter().map(|(name, migrator)| ((*name).to_owned(), applied(migrator))).collect()
    }

    #[test]
    fn a_newer_or_changed_schema_is_refused_and_an_older_one_is_migrated() {
        assert_eq!(compare(&own()).unwrap(), Age::Current);
        let mut older = own();
        older.get_mut("gpu").unwrap().pop();
        assert_eq!(compare(&older).unwrap(), Age::Older);
        let mut newer = own();
        newer.get_mut("gpu").unwrap().push(Applied { version: 9999, checksum: String::new() });
        assert!(compare(&newer).unwrap_err().to_string().contains("newer"));
        let mut changed = own();
        changed.get_mut("stock").unwrap()[0].checksum = "00".to_owned();
        assert!(compare(&changed).unwrap_err().to_string().contains("another"));
        let mut unknown = own();
        unknown.insert("other".to_owned(), Vec::new());
        assert!(compare(&unknown).is_err());
    }
}
