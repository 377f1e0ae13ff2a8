//! SQL: without a tenant predicate, a statement of a request still neither shows nor changes rows of another tenant.
//!
//! The statements are those of `.sqlx/`. Each is executed without one of its tenant predicates on two copies of a
//! database: one with the rows of both tenants, one with those of the first tenant only. What the first tenant's requests
//! see must be the same. To a superuser, who sees all tenants, the same statements must differ: otherwise the test would
//! prove nothing. Of most it is shown; the test prints the others, whose rows the tenants do not have.

use std::{path::Path, sync::Arc};

use crate::support::{Platform, Tenant, fill, predicates, rows_in, rows_of, schemas, two_tenants};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, ValueRef, error::DatabaseError};
use testkit::TestDb;
use uuid::Uuid;

use crate::policies;

/// Executions of a statement with different parameters, until one shows the other tenant's rows to a superuser.
const ATTEMPTS: usize = 300;
/// How many of them vary the parameters in order.
const IN_ORDER: usize = 200;

/// The schema with a `now()` that is always the same: what runs costs more with each second, to whoever sees it.
const FROZEN: &str = "frozen";

/// Begins the rows that describe the tables.
const MARK: &str = "#rows ";

/// A statement without one of its predicates, in a schema.
struct Variant {
    schema: &'static str,
    sql: String,
    removed: String,
    /// Number of the parameter that has the tenant.
    tenant: Option<usize>,
    /// Types of the parameters.
    types: Vec<String>,
}

/// A copy of the database.
struct Copy {
    conn: PgConnection,
    /// Statements that were prepared: the last has this number as its name.
    prepared: usize,
}

/// What a statement returned, and the rows of the other tenant after it. None if it was refused.
type Outcome = Option<Vec<String>>;

/// The statements of all services.
fn statements() -> Vec<(String, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.sqlx");
    let mut statements: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let query: Value = serde_json::from_str(&text).unwrap();
            let types = query["describe"]["parameters"]["Left"].as_array().unwrap().iter();
            let types = types.map(|name| sql_type(name.as_str().unwrap())).collect();
            (query["query"].as_str().unwrap().to_owned(), types)
        })
        .collect();
    statements.sort();
    statements
}

/// The name in SQL of a type that sqlx calls `UuidArray`.
fn sql_type(name: &str) -> String {
    match name.strip_suffix("Array") {
        Some(element) => format!("{}[]", element.to_lowercase()),
        None => name.to_lowercase(),
    }
}

fn uuid(id: &str) -> Uuid {
    id.split_once('_').unwrap().1.parse().unwrap()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn array(values: &[String], of: &str) -> String {
    format!("array[{}]::{of}[]", values.join(","))
}

/// Values of a parameter that find rows of the tenant.
fn values(kind: &str, tenant: &Tenant, uuids: &[Uuid]) -> Vec<String> {
    let ids: Vec<String> = uuids.iter().map(|id| quoted(&id.to_string())).collect();
    let words = ["running", "active", "instance.created", "EUR", "x"].map(str::to_owned);
    let texts: Vec<String> =
        words.iter().chain(tenant.values.values().flatten()).map(|text| quoted(text)).collect();
    let some = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match kind {
        "uuid" => [vec!["null".to_owned()], ids].concat(),
        "text" => [vec!["null".to_owned()], texts].concat(),
        "uuid[]" => vec![array(&ids, "uuid")],
        "text[]" => vec![array(&texts, "text")],
        "int8" | "int4" => some(&["1000", "1", "0", "null"]),
        "float8" | "numeric" => some(&["1"]),
        "bool" => some(&["true", "false"]),
        "timestamptz" => some(&["'2100-01-01'", "'2000-01-01'", "null"]),
        "jsonb" => some(&["'{}'", "'[]'"]),
        "bytea" => some(&["'\\x00'"]),
        array if array.ends_with("[]") => vec![format!("'{{}}'::{array}")],
        other => panic!("a statement has a parameter of the type {other}: add values of it to {}", file!()),
    }
}

/// The `n`-th combination of a value for each parameter; none after the last. After the first ones, which vary the first parameters
/// only, they are drawn.
fn combination(values: &[Vec<String>], n: usize) -> Option<Vec<&str>> {
    if n < IN_ORDER {
        let mut rest = n;
        let chosen = values.iter().map(|values| {
            let value = &values[rest % values.len()];
            rest /= values.len();
            value.as_str()
        });
        let chosen = chosen.collect();
        return (rest == 0).then_some(chosen);
    }
    let mut drawn = StdRng::seed_from_u64(n as u64);
    Some(values.iter().map(|values| values[drawn.random_range(..values.len())].as_str()).collect())
}

impl Copy {
    async fn of(db: &TestDb) -> Self {
        Self { conn: db.admin().await, prepared: 0 }
    }

    /// Prepares a statement, for which time stands still. Returns false if the schema does not have what it names.
    async fn prepare(&mut self, schema: &str, sql: &str, types: &[String]) -> bool {
        let types = if types.is_empty() { String::new() } else { format!("({})", types.join(",")) };
        self.prepared += 1;
        let prepare = format!(
            "set search_path = {FROZEN}, {schema}, pg_catalog; prepare s{}{types} as {sql}",
            self.prepared
        );
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut self.conn).await.is_ok()
    }

    /// Executes the statement after these settings, and undoes it.
    async fn execute(&mut self, settings: &str, values: &[&str], rest: &str) -> Outcome {
        let values = if values.is_empty() { String::new() } else { format!("({})", values.join(",")) };
        let all =
            format!("begin; {settings} execute s{}{values}; reset role; {rest} rollback", self.prepared);
        let rows = match sqlx::raw_sql(AssertSqlSafe(all)).fetch_all(&mut self.conn).await {
            Ok(rows) => rows,
            Err(error) => {
                let code = error.as_database_error().and_then(DatabaseError::code).unwrap_or_default();
                assert_ne!(code, "42601", "a syntax error: {error}");
                sqlx::raw_sql("rollback").execute(&mut self.conn).await.unwrap();
                return None;
            }
        };
        let mut rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let columns = (0..row.len()).map(|n| {
                    let value = row.try_get_raw(n).unwrap();
                    if value.is_null() { "null".to_owned() } else { without_times(value.as_str().unwrap()) }
                });
                columns.collect::<Vec<_>>().join(" | ")
            })
            .collect();
        rows.sort();
        Some(rows)
    }
}

/// Replaces what looks like a time: `now()` differs between two executions.
fn without_times(text: &str) -> String {
    if text.len() >= 19 && text.as_bytes()[4] == b'-' && text.as_bytes()[13] == b':' {
        return "time".to_owned();
    }
    text.to_owned()
}

/// What to execute after a statement that writes, as the superuser: one row for all rows of the other tenant.
fn fingerprint(tables: &[String], uuids: &[Uuid]) -> String {
    let ids: Vec<String> =
        uuids.iter().flat_map(|id| [quoted(&id.to_string()), quoted(&id.simple().to_string())]).collect();
    let ids = array(&ids, "text");
    let of = |table: &String| {
        format!(
            "select {name} || md5(coalesce(string_agg(to_jsonb(t)::text, ',' order by to_jsonb(t)::text), ''))
             from {table} t where exists (select from unnest({ids}) id where strpos(to_jsonb(t)::text, id) > 0);",
            name = quoted(&format!("{MARK}{table} "))
        )
    };
    tables.iter().map(of).collect()
}

/// The tables that a statement names.
async fn tables(conn: &mut PgConnection, schema: &str, sql: &str) -> Vec<String> {
    let tables = "select table_name::text from information_schema.tables where table_schema = $1";
    let tables: Vec<String> = sqlx::query_scalar(tables).bind(schema).fetch_all(conn).await.unwrap();
    let words: Vec<&str> = sql.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let named = tables.into_iter().filter(|table| words.contains(&table.as_str()));
    named.map(|table| format!("{schema}.{table}")).collect()
}

fn writes(sql: &str) -> bool {
    ["insert ", "update ", "delete "].iter().any(|word| sql.contains(word))
}

/// Fills a database through the API, and returns it with a copy that has the first tenant's rows only.
async fn databases() -> (Arc<TestDb>, Arc<TestDb>, Tenant, Tenant) {
    let both = Arc::new(TestDb::new());
    // the services end with their runtime, and with them all connections
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let db = Arc::clone(&both);
    let filled = tokio::task::spawn_blocking(move || {
        let tenants = runtime.block_on(async move { two_tenants(&Platform::on(db).await).await });
        runtime.shutdown_background();
        tenants
    });
    let (own, other) = filled.await.unwrap();
    fill(&both, &other).await;
    let mut conn = both.admin().await;
    let at: String = sqlx::query_scalar("select now()::text").fetch_one(&mut conn).await.unwrap();
    let freeze = format!(
        "create schema {FROZEN}; grant usage on schema {FROZEN} to public;
         create function {FROZEN}.now() returns timestamptz stable language sql as $$ select {}::timestamptz $$;",
        quoted(&at)
    );
    sqlx::raw_sql(AssertSqlSafe(freeze)).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();

    let alone = Arc::new(TestDb::new());
    let name = async |db: &TestDb| -> String {
        let mut conn = db.admin().await;
        let name = sqlx::query_scalar("select current_database()::text").fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        name
    };
    let (from, to) = (name(&both).await, name(&alone).await);
    let mut conn = PgConnection::connect(&std::env::var("TEST_POSTGRES").unwrap()).await.unwrap();
    let close = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{from}'");
    for statement in [
        format!("alter database {from} allow_connections false"),
        close,
        format!("drop database {to} with (force)"),
        format!("create database {to} template {from}"),
        format!("alter database {from} allow_connections true"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    let mut conn = alone.admin().await;
    let uuids = other.uuids(&own);
    sqlx::raw_sql("set session_replication_role = replica").execute(&mut conn).await.unwrap();
    for (table, rows) in rows_in(&alone, &uuids, &[]).await {
        if !rows.is_empty() {
            let forms: Vec<String> =
                uuids.iter().flat_map(|id| [id.to_string(), id.simple().to_string()]).collect();
            let delete = format!(
                "delete from {table} t where exists (select from unnest($1) id where strpos(to_jsonb(t)::text, id) > 0)"
            );
            sqlx::query(AssertSqlSafe(delete)).bind(forms).execute(&mut conn).await.unwrap();
        }
    }
    conn.close().await.unwrap();
    (both, alone, own, other)
}

/// What the transaction of a request names: see `db::Db::tenant` and `identity::scope`.
fn settings(own: &Tenant) -> String {
    format!(
        "do $$ begin perform set_config('atelier.tenant', '{}', true), set_config('atelier.user', '{}', true); end $$;",
        uuid(&own.id),
        uuid(&own.owner.id)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_tenant_predicate_row_level_security_still_hides_other_tenants() {
    let (both, alone, own, other) = databases().await;
    let uuids = other.uuids(&own);
    let settings = settings(&own);
    let (mut both_conn, mut alone_conn) = (Copy::of(&both).await, Copy::of(&alone).await);
    let mut failures = policies::faults(&mut both_conn.conn, &rows_of(&both, &uuids).await).await;
    let (mut variants, mut hidden) = (Vec::new(), Vec::new());
    for (sql, types) in statements() {
        let found = predicates(&sql);
        let mut is_known = found.is_empty();
        for schema in schemas() {
            if found.is_empty() || !both_conn.prepare(schema, &sql, &types).await {
                continue;
            }
            is_known = true;
            for range in &found {
                let removed = sql[range.clone()].to_owned();
                let mut sql = sql.clone();
                sql.replace_range(range.clone(), "true");
                let digits = |text: &str| {
                    text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
                };
                let tenant = removed.split_once('$').and_then(|(_, rest)| digits(rest));
                variants.push(Variant { schema, sql, removed, tenant, types: types.clone() });
            }
        }
        if !is_known {
            failures.push(format!("a statement fits no schema: {sql}"));
        }
    }
    for variant in &variants {
        let Variant { schema, sql, removed, tenant, types } = variant;
        let what = || format!("{schema}, without {removed:?}: {sql}");
        let prepared =
            [both_conn.prepare(schema, sql, types).await, alone_conn.prepare(schema, sql, types).await];
        if prepared != [true, true] {
            failures.push(format!("is no statement: {}", what()));
            continue;
        }
        let rest = if writes(sql) {
            fingerprint(&tables(&mut both_conn.conn, schema, sql).await, &uuids)
        } else {
            String::new()
        };
        let request = format!("set local role atelier_{schema}_app; {settings}");
        let mut values: Vec<_> = types.iter().map(|kind| values(kind, &other, &uuids)).collect();
        if let Some(n) = tenant {
            // a request names its own tenant
            let id = quoted(&uuid(&own.id).to_string());
            values[n - 1] = vec![if types[n - 1] == "uuid[]" { array(&[id], "uuid") } else { id }];
        }
        // a statement that changes nothing leaves these
        let untouched = {
            let nothing = format!("begin; {rest} rollback");
            let rows = sqlx::raw_sql(AssertSqlSafe(nothing)).fetch_all(&mut both_conn.conn).await.unwrap();
            let mut rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            rows.sort();
            rows
        };
        let is_touched = |outcome: &Outcome| {
            let rows = outcome.as_deref().unwrap_or_default();
            !rows.is_empty() && !untouched.iter().all(|row| rows.contains(row))
        };
        let mut shown = false;
        for n in 0..ATTEMPTS {
            let Some(values) = combination(&values, n) else { break };
            let seen = both_conn.execute(&request, &values, &rest).await;
            let expected = alone_conn.execute(&request, &values, &rest).await;
            let visible = |outcome: &Outcome| {
                let rows = outcome.clone().unwrap_or_default();
                rows.into_iter().filter(|row| !row.starts_with(MARK)).collect::<Vec<_>>()
            };
            if (seen.is_some() && visible(&seen) != visible(&expected)) || is_touched(&seen) {
                failures
                    .push(format!("{}\n    with {values:?}: {seen:?}\n    instead of {expected:?}", what()));
                break;
            }
            let seen = both_conn.execute("", &values, &rest).await;
            let expected = alone_conn.execute("", &values, &rest).await;
            if (seen.is_some() && visible(&seen) != visible(&expected)) || is_touched(&seen) {
                shown = true;
                break;
            }
        }
        if !shown {
            hidden.push(what());
        }
    }
    eprintln!(
        "{} predicates; without {} of them a superuser sees or changes rows of the other tenant. Not shown:\n{}",
        variants.len(),
        variants.len() - hidden.len(),
        hidden.join("\n")
    );
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(hidden.len() * 3 < variants.len(), "too few statements find rows: the tenants own too little");
}
