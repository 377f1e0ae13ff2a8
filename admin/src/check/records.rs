//! Invariants of the rows alone, in one snapshot. The statements concern several schemas, so that the macros, which know one
//! schema, cannot check them; a test executes each.

use std::time::Duration;

use jiff_sqlx::Timestamp;
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use super::Finding;
use crate::schemas;

/// Invariants with the statements that find violations, and the schemas that they read.
const CHECKS: &[(&str, &str, &[&str])] = &[
    ("claim-without-instance", include_str!("sql/claims_without_instance.sql"), &["stock", "gpu"]),
    ("instance-without-claim", include_str!("sql/instances_without_claim.sql"), &["stock", "gpu"]),
    ("stock-counts", include_str!("sql/stock_counts.sql"), &["stock"]),
    ("unit-places", include_str!("sql/unit_places.sql"), &["stock"]),
    ("queue-entries", include_str!("sql/queue_entries.sql"), &["stock", "gpu"]),
    ("runs-overlap", include_str!("sql/runs_overlap.sql"), &["gpu"]),
    ("runs-open", include_str!("sql/runs_open.sql"), &["gpu"]),
    ("usage-records", include_str!("sql/usage_records.sql"), &["gpu"]),
    ("usage-days", include_str!("sql/usage_days.sql"), &["gpu"]),
    ("usage-totals", include_str!("sql/usage_totals.sql"), &["gpu"]),
    ("queues", include_str!("sql/queues.sql"), &["gpu", "identity", "jobs", "stock", "storage"]),
    ("attachments", include_str!("sql/attachments.sql"), &["gpu", "storage"]),
    ("tenants", include_str!("sql/tenants.sql"), &["gpu", "storage", "identity"]),
];

type Row = (String, Option<Timestamp>, String);

/// Returns violations: at most 1000 of each invariant. Those of schemas that do not exist are left out.
pub(super) async fn check(conn: &mut PgConnection, grace: Duration) -> anyhow::Result<Vec<Finding>> {
    let existing = schemas::existing(&mut *conn).await?;
    let mut findings = Vec::new();
    conn.execute("begin isolation level repeatable read read only").await?;
    for (invariant, sql, needed) in CHECKS {
        if !needed.iter().all(|schema| existing.contains(schema)) {
            continue;
        }
        let query = sqlx::query_as::<_, Row>(AssertSqlSafe(*sql));
        let query = if sql.contains("$1") { query.bind(grace.as_secs_f64()) } else { query };
        let rows = query.fetch_all(&mut *conn).await?;
        findings.extend(rows.into_iter().map(|(subject, since, detail)| Finding {
            invariant,
            subject,
            detail,
            since: since.map(Timestamp::to_jiff),
        }));
    }
    conn.execute("commit").await?;
    for (schema, _) in platform::audit_logs().filter(|(schema, _)| existing.contains(schema)) {
        findings.extend(broken_audit_log(&mut *conn, schema).await?);
    }
    Ok(findings)
}

/// Verifies the chains of a service's audit log.
async fn broken_audit_log(conn: &mut PgConnection, schema: &'static str) -> anyhow::Result<Vec<Finding>> {
    sqlx::query("select set_config('search_path', $1, false)").bind(schema).execute(&mut *conn).await?;
    let verified = audit::verify(&mut *conn).await;
    conn.execute("reset search_path").await?;
    let broken = verified?.broken;
    Ok(broken
        .into_iter()
        .map(|entry| Finding {
            invariant: "audit-log",
            subject: format!("{schema} #{}", entry.number),
            detail: format!(
                "of {} does not fit its chain",
                entry.tenant_id.map_or_else(|| "the platform".to_owned(), |tenant| tenant.to_string())
            ),
            since: None,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use testkit::TestDb;

    use super::*;

    #[tokio::test]
    async fn each_queue_is_checked() {
        let db = TestDb::new();
        db.create_with(&schemas::all()).await;
        let mut conn = db.admin().await;
        let (_, sql, needed) = CHECKS.iter().find(|(invariant, ..)| *invariant == "queues").unwrap();
        for table in schemas::queues(&mut conn).await.unwrap() {
            assert!(sql.contains(&format!(" from {table}")), "{table} is not in queues.sql");
            let (schema, _) = table.split_once('.').unwrap();
            assert!(needed.contains(&schema), "{schema} is not among the schemas of queues.sql");
        }
    }
}
