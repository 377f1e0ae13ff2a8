//! After the end of a tenant nothing is left of it but what is listed here, each with its reason.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use sqlx::{Connection, Row};
use testkit::within;
use uuid::Uuid;

use crate::support::{Platform, Rows, fill, rows_in, schemas, two_tenants};

const ADMINISTRATORS: &str =
    "what administrators did to what the tenant owned, and why: part of the audit log";
const MONEY: &str = "what was charged, which bills depend on: ids, times, prices and amounts";
const FEED: &str = "changes for other services, deleted with age: ids only";

/// Tables that several services have and that keep something of a tenant, by their name.
const KEPT_IN_EACH_SERVICE: [&str; 5] = [
    // who did what, for as long as it is kept
    "audit_chains",
    "audit_entries",
    "audit_origins",
    // repeated requests of administrators and services are recognized for a day
    "idempotency_keys",
    // that it is deleted: refuses what comes late. Identity keeps no row
    "tenants",
];

/// Other tables that keep something of a tenant.
const KEPT: [(&str, &str); 17] = [
    ("gpu.admin_actions", ADMINISTRATORS),
    ("gpu.instances", "what runs refer to: without names, order, storage and place"),
    ("gpu.route_changes", FEED),
    ("gpu.runs", MONEY),
    ("gpu.usage_days", MONEY),
    ("gpu.usage_records", MONEY),
    ("gpu.usage_totals", MONEY),
    ("identity.operations", "the operation that has deleted it, for administrators, deleted with age"),
    ("identity.revocations", FEED),
    ("jobs.charges", MONEY),
    ("jobs.pool_changes", FEED),
    ("jobs.pools", "a pool of the platform, and who paid for its workers"),
    ("jobs.usage_changes", MONEY),
    ("jobs.usage_days", MONEY),
    ("jobs.usage_records", MONEY),
    ("stock.unit_holders", "who has held which unit, which proves what was charged: ids and times"),
    ("storage.admin_actions", ADMINISTRATORS),
];

/// Tables with a tenant in which the tenant of this test has nothing: they are emptied by the statements beside those of the
/// others, or hold what only administrators and workers put there.
const EMPTY: [&str; 9] = [
    "identity.operations",
    "identity.removed_members",
    "jobs.usage_changes",
    "jobs.usage_records",
    "stock.audit_chains",
    "stock.audit_entries",
    "stock.audit_origins",
    "stock.operations",
    "stock.queue_entries",
];

/// Tables with a column for a tenant.
async fn tables_of_tenants(platform: &Platform) -> BTreeSet<String> {
    let tables = "select distinct table_schema || '.' || table_name from information_schema.columns
                  join information_schema.tables using (table_schema, table_name)
                  where table_schema = any($1) and table_type = 'BASE TABLE' and column_name = 'tenant_id'";
    let mut conn = platform.db.admin().await;
    let tables = sqlx::query(tables).bind(schemas()).fetch_all(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    tables.into_iter().map(|row| row.get(0)).collect()
}

/// Tables with a row that names the tenant.
fn filled(rows: &Rows) -> BTreeSet<String> {
    rows.iter().filter(|(_, rows)| !rows.is_empty()).map(|(table, _)| table.clone()).collect()
}

fn uuid(id: &str) -> Uuid {
    id.split_once('_').unwrap().1.parse().unwrap()
}

fn is_kept(table: &str) -> bool {
    let in_each_service = table.split_once('.').is_some_and(|(_, name)| KEPT_IN_EACH_SERVICE.contains(&name));
    KEPT.iter().any(|(kept, _)| *kept == table) || in_each_service && table != "identity.tenants"
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_deleted_tenant_but_what_is_listed() {
    let platform = Platform::start().await;
    let (alpha, beta) = two_tenants(&platform).await;
    let tenant = uuid(&alpha.id);
    fill(&platform.db, &alpha).await;
    let everything = tables_of_tenants(&platform).await;
    let before = filled(&rows_in(&platform.db, &[tenant], &[]).await);
    let empty: BTreeSet<String> = everything.difference(&before).cloned().collect();
    let unknown: Vec<&String> = empty.iter().filter(|table| !EMPTY.contains(&table.as_str())).collect();
    assert!(
        unknown.is_empty(),
        "the tenant has nothing in these tables: fill them, or list them: {unknown:?}"
    );

    let owners = platform.gateway.token(&alpha.owner.token);
    for person in [&alpha.member, &alpha.viewer] {
        let path = format!("/v1/tenants/{}/members/{}", alpha.id, person.id);
        let _ = owners.delete(&path).await.expect(204);
    }
    let path = format!("/v1/tenants/{}", alpha.id);
    let _ = platform.admin.patch(&path, "*", json!({ "state": "suspended" })).await.expect(200);
    // as the identity service does, which knows no participants here: all that it calls
    let participants = &::platform::service("identity").unwrap().calls;
    assert!(!participants.is_empty(), "the identity service calls nobody");
    let order = async |generation: i64, state: &str, delete_storages: bool| {
        let mut remaining = Vec::new();
        for service in participants {
            let found = platform.services.iter().find(|one| one.name == *service).unwrap();
            let order = json!({ "generation": generation, "state": state, "stop_instances": true,
                                "delete_storages": delete_storages });
            let internal = format!("/internal/v1/tenants/{}", alpha.id);
            let answer = found.client.service("identity").put(&internal, order).await;
            if answer.status != 200 || answer.body["done"] != true {
                remaining.push(format!("{service}: {}", answer.text));
            }
        }
        remaining
    };
    let _ = order(100, "suspended", false).await;
    // until the time of grace is over, the deletion can be taken back
    within(Duration::from_secs(120), "the instances are deleted", async || {
        let left = order(101, "deleting", false).await;
        (left.iter().all(|left| left.starts_with("storage"))).then_some(())
    })
    .await;
    for kept in ["jobs.models", "jobs.webhooks", "gpu.quotas", "gpu.budgets", "storage.storages"] {
        assert!(
            filled(&rows_in(&platform.db, &[tenant], &[]).await).contains(kept),
            "{kept} is deleted early"
        );
    }
    within(Duration::from_secs(120), "all services are done", async || {
        let left = order(101, "deleting", true).await;
        if left.is_empty() { Some(()) } else { None }
    })
    .await;
    let _ = platform.admin.delete(&format!("{path}?storage_grace_hours=0")).await.expect(202);
    within(Duration::from_secs(30), "the tenant is deleted", async || {
        (platform.admin.get(&path).await.status == 404).then_some(())
    })
    .await;

    let rows = rows_in(&platform.db, &[tenant], &[]).await;
    let left: Vec<_> = rows.iter().filter(|(table, rows)| !rows.is_empty() && !is_kept(table)).collect();
    assert!(left.is_empty(), "{left:#?}");
    // what is kept says nothing about what the tenant has done with it
    let instances = rows["gpu.instances"].join("\n");
    assert!(!instances.contains("alpha") && instances.contains("\"name\": \"deleted\""), "{instances}");
    let money = [
        "gpu.runs",
        "gpu.usage_records",
        "gpu.usage_days",
        "jobs.charges",
        "jobs.usage_days",
        "jobs.usage_records",
        "stock.unit_holders",
    ];
    for table in money {
        assert!(rows[table].iter().all(|row| !row.contains("alpha")), "{:?}", rows[table]);
    }
    // nor is an answer to a member's request
    for schema in schemas() {
        let answers = &rows[&format!("{schema}.idempotency_keys")];
        assert!(answers.iter().all(|row| !row.contains("\"scope\": \"ten_")), "{answers:#?}");
    }

    // the other tenant has all that it had
    let others = platform.gateway.token(&beta.owner.token);
    for list in ["instances", "storages", "jobs", "models", "webhooks", "mq-credentials", "api-keys"] {
        let items = others.get(&format!("/v1/{list}")).await.expect(200).body["items"].clone();
        assert_ne!(items, json!([]), "{list} of another tenant");
    }
    let quota = others.get("/v1/quota").await.expect(200).body;
    assert_ne!(quota, Value::Null);
}
