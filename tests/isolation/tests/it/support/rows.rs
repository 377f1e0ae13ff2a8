//! What the database has of a tenant.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use testkit::TestDb;
use uuid::Uuid;

/// Columns that change without a request: leases and schedules of workers, and what they measure.
const VOLATILE: [&str; 15] = [
    "lease_owner",
    "lease_until",
    "wake_at",
    "failures",
    "checked_at",
    "observed_at",
    "seen_at",
    "updated_at",
    "last_seen_at",
    "looked_at",
    "confirmed_at",
    "next_at",
    "leader",
    "leader_until",
    "epoch",
];

/// Tables that workers write: samples of running instances, their idle times, tickets, which expire, what schedulers of jobs
/// follow and charge, and what is published and sent of them.
const MEASURED: [&str; 11] = [
    "tickets",
    "instance_samples",
    "instance_sample_averages",
    "sample_progress",
    "idle_watches",
    "instance_logs",
    "allowances",
    "pool_changes",
    "pool_use",
    "mq_outbox",
    "webhook_deliveries",
];

/// The services with a schema.
pub(crate) fn schemas() -> Vec<&'static str> {
    let schemas: Vec<_> = platform::stateful().map(|service| service.name.as_str()).collect();
    assert!(!schemas.is_empty(), "no service of platform.toml has a schema");
    schemas
}

/// Rows by table.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// Returns a sentence for each row that was added, changed or removed.
#[must_use]
pub(crate) fn changes(before: &Rows, after: &Rows) -> Vec<String> {
    let missing = |rows: &Rows, others: &Rows, what| {
        let rows = rows.iter().flat_map(|(table, rows)| rows.iter().map(move |row| (table, row)));
        let gone = rows.filter(|(table, row)| !others[*table].contains(row));
        gone.map(|(table, row)| format!("{table} {what} the row {row}")).collect::<Vec<_>>()
    };
    [missing(before, after, "no longer has"), missing(after, before, "now has")].concat()
}

/// All rows that name one of the ids, by table, as a superuser sees them. Without those that workers write in between.
pub(crate) async fn rows_of(db: &TestDb, ids: &[Uuid]) -> Rows {
    rows_in(db, ids, &MEASURED).await
}

/// As [`rows_of`], of all tables but `except`.
pub(crate) async fn rows_in(db: &TestDb, ids: &[Uuid], except: &[&str]) -> Rows {
    let mut conn: PgConnection = db.admin().await;
    let tables = "select format('%I.%I', table_schema, table_name) from information_schema.tables
                  where table_schema = any($2) and table_type = 'BASE TABLE' and table_name <> all($1)";
    let tables: Vec<String> =
        sqlx::query_scalar(tables).bind(except).bind(schemas()).fetch_all(&mut conn).await.unwrap();
    let forms: Vec<String> =
        ids.iter().flat_map(|id| [id.hyphenated().to_string(), id.simple().to_string()]).collect();
    let mut rows = Rows::new();
    for table in tables {
        let query = format!(
            "select (to_jsonb(t) - $2)::text from {table} t
             where exists (select from unnest($1) id where strpos(to_jsonb(t)::text, id) > 0) order by 1"
        );
        let query = sqlx::query_scalar(AssertSqlSafe(query)).bind(&forms).bind(VOLATILE.as_slice());
        rows.insert(table, query.fetch_all(&mut conn).await.unwrap());
    }
    conn.close().await.unwrap();
    rows
}

/// How many entries the audit logs of all services have.
pub(crate) async fn audited(db: &TestDb) -> i64 {
    let mut conn = db.admin().await;
    let counts: Vec<_> = platform::audit_logs()
        .map(|(service, _)| format!("(select count(*) from {service}.audit_entries)"))
        .collect();
    let entries = format!("select {}", counts.join(" + "));
    let entries = sqlx::query_scalar(AssertSqlSafe(entries)).fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    entries
}
