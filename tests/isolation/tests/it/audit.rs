//! The audit log: one entry per write, in the transaction of its effect, in chains that show each change.

use std::collections::BTreeSet;

use crate::support::{Platform, Tenant, two_tenants};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection};
use testkit::Client;

/// The log of the gpu service.
const LOG: &str = "platform-instance-audit";

/// Writes of one tenant at a time.
const WRITERS: usize = 16;

async fn verification(admin: &Client, log: &str) -> Value {
    admin.get(&format!("/v1/{log}/verification")).await.expect(200).body
}

/// All entries of a log, newest first.
async fn entries(client: &Client, path: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let separator = if path.contains('?') { '&' } else { '?' };
        let page = client.get(&format!("{path}{separator}limit=20{cursor}")).await.expect(200).body;
        all.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { return all };
        cursor = format!("&cursor={next}");
    }
}

/// Executes statements as the owner of the gpu service's schema, as its migrations do.
async fn as_owner(platform: &Platform, statements: String) {
    let mut conn = platform.db.admin().await;
    let all = format!("set role atelier_gpu_owner; set search_path = gpu; {statements}");
    sqlx::raw_sql(AssertSqlSafe(all)).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

async fn number(platform: &Platform, query: &'static str) -> i64 {
    let mut conn = platform.db.admin().await;
    let number = sqlx::query_scalar(query).fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    number
}

/// What the entries say, and who reads them.
async fn reads(platform: &Platform, own: &Tenant, other: &Tenant) {
    let owner = platform.gateway.token(&own.owner.token);
    let log = entries(&owner, "/v1/instance-audit").await;
    let operations: BTreeSet<_> = log.iter().map(|entry| entry["operation"].as_str().unwrap()).collect();
    for operation in ["POST /v1/instances", "POST /v1/instances/{id}/stop", "POST /v1/instances/{id}/tickets"]
    {
        assert!(operations.contains(operation), "{operation} is not in {operations:?}");
    }
    let created = log.iter().rfind(|entry| entry["operation"] == "POST /v1/instances").unwrap();
    assert_eq!(created["user_id"], own.owner.id);
    assert!(created["session_id"].as_str().unwrap().starts_with("ses_"), "{created}");
    assert_eq!((&created["status"], &created["address"]), (&json!(202), &json!("127.0.0.1")), "{created}");
    assert!(created["fields"].as_array().unwrap().contains(&json!("secrets")), "{created}");
    assert!(created["request_id"].is_string() && created["is_admin"] == false, "{created}");
    let text = json!(log).to_string();
    for hidden in ["alpha-secret", &other.id, &other.owner.id, "beta"] {
        assert!(!text.contains(hidden), "{hidden} is in the log");
    }
    let log = entries(&owner, "/v1/audit").await;
    let has = |operation: &str, user: &str| {
        log.iter().any(|entry| entry["operation"] == operation && entry["user_id"] == user)
    };
    assert!(has("POST /v1/sessions", &own.viewer.id));
    assert!(has("POST /v1/tenants/{id}/invitations", &own.owner.id));
    assert!(!entries(&owner, "/v1/storage-audit").await.is_empty());

    // administrators read the logs of tenants, and that of the platform
    let path = format!("/v1/platform-instance-audit?tenant_id={}", own.id);
    assert_eq!(entries(&platform.admin, &path).await, entries(&owner, "/v1/instance-audit").await);
    let log = entries(&platform.admin, "/v1/platform-instance-audit").await;
    let put = |entry: &&Value| entry["operation"] == "PUT /v1/platform-quotas/{tenant_id}";
    assert_eq!(log.iter().find(put).map(|entry| &entry["is_admin"]), Some(&json!(true)));
    let stock = entries(&platform.admin, "/v1/platform-stock-audit").await;
    assert!(stock.iter().any(|entry| entry["operation"] == "POST /v1/stock/additions"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_each_write_and_shows_each_change() {
    let platform = Platform::start().await;
    let (own, other) = two_tenants(&platform).await;
    reads(&platform, &own, &other).await;
    let tables =
        "select table_schema::text from information_schema.tables where table_name = 'audit_entries'";
    let mut conn = platform.db.admin().await;
    let kept: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let kept: BTreeSet<_> = kept.iter().map(String::as_str).collect();
    let shown: BTreeSet<_> = ::platform::audit_logs().map(|(service, _)| service).collect();
    assert_eq!(kept, shown, "each log has a collection platform-…audit in platform.toml");
    for (service, log) in ::platform::audit_logs() {
        let found = verification(&platform.admin, log).await;
        assert_eq!(found["broken"], json!([]), "{service}");
        assert!(found["entries"].as_i64() > Some(0), "{service}: {found}");
    }
    // each entry is of the transaction that has its effect
    let apart = "select count(*) from gpu.audit_entries e
                 where not exists(select from gpu.idempotency_keys k where k.xmin = e.xmin)";
    assert_eq!(number(&platform, apart).await, 0);

    // parallel writers do not fork a chain; a refused write leaves no entry
    let owner = platform.gateway.token(&own.owner.token);
    let count = "select count(*) from gpu.audit_entries";
    let before = number(&platform, count).await;
    let path = format!("/v1/instances/{}/tickets", own.values("inst")[0]);
    let refused = format!("/v1/instances/{}/tickets", other.values("inst")[0]);
    let statuses: Vec<u16> = stream::iter(0..10 * WRITERS)
        .map(async |n| {
            let path = if n % 2 == 0 { &path } else { &refused };
            owner.post(path, Value::Null).await.status
        })
        .buffer_unordered(WRITERS)
        .collect()
        .await;
    let accepted = i64::try_from(statuses.iter().filter(|status| **status == 201).count()).unwrap();
    assert_eq!(usize::try_from(accepted).unwrap(), 5 * WRITERS, "{statuses:?}");
    assert_eq!(number(&platform, count).await - before, accepted);
    let log = entries(&owner, "/v1/instance-audit").await;
    let numbers: Vec<_> = log.iter().map(|entry| entry["number"].as_i64().unwrap()).collect();
    let expected: Vec<_> = (1..=i64::try_from(numbers.len()).unwrap()).rev().collect();
    assert_eq!(numbers, expected);
    assert_eq!(verification(&platform.admin, LOG).await["broken"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_entry_is_found() {
    let platform = Platform::start().await;
    let (own, _) = two_tenants(&platform).await;
    let tenant = own.id.replace("ten_", "");
    // neither the roles of the service nor its owner change an entry by mistake
    for role in ["app", "worker", "owner"] {
        for statement in
            ["update audit_entries set entry = entry", "delete from audit_entries", "truncate audit_entries"]
        {
            let mut conn = platform.db.admin().await;
            let all = format!("set role atelier_gpu_{role}; set search_path = gpu; {statement}");
            let refused = sqlx::raw_sql(AssertSqlSafe(all)).execute(&mut conn).await;
            assert!(refused.is_err(), "{role}: {statement}");
            conn.close().await.unwrap();
        }
    }
    let broken = |number: i64| json!([{ "tenant_id": own.id, "number": number }]);
    let tamper = async |statement: &str| {
        let statement = statement.replace("TENANT", &format!("'{tenant}'"));
        let triggers = "alter table audit_entries";
        let all = format!("{triggers} disable trigger all; {statement}; {triggers} enable trigger all");
        as_owner(&platform, all).await;
        verification(&platform.admin, LOG).await["broken"].clone()
    };
    let keep = "create table kept as select * from audit_entries; create table kept_origins as select * from audit_origins";
    let restore = "delete from audit_entries; insert into audit_entries select * from kept;
                   delete from audit_origins; insert into audit_origins select * from kept_origins";
    assert_eq!(tamper(keep).await, json!([]));
    for (statement, number) in [
        (
            "update audit_entries set entry = replace(entry, '202', '200') where tenant_id = TENANT and number = 3",
            3,
        ),
        ("update audit_entries set at = at - interval '1 hour' where tenant_id = TENANT and number = 2", 2),
        ("update audit_origins set origin = '{}' where tenant_id = TENANT and number = 2", 2),
        // the entry after the one that is missing
        ("delete from audit_entries where tenant_id = TENANT and number = 2", 3),
    ] {
        assert_eq!(tamper(statement).await, broken(number), "{statement}");
        assert_eq!(tamper(restore).await, json!([]), "after {statement}");
    }
    let newest = number(
        &platform,
        "select max(last) from gpu.audit_chains where tenant_id <> '00000000-0000-0000-0000-000000000000'",
    )
    .await;
    let last = "delete from audit_entries where number = (select last from audit_chains where tenant_id = TENANT) and tenant_id = TENANT";
    let found = tamper(last).await;
    assert_eq!(found[0]["tenant_id"], own.id, "{found} of {newest}");
    assert_eq!(tamper(restore).await, json!([]));

    // personal data is erased without breaking the chain, and old entries are deleted from its beginning
    assert_eq!(tamper("delete from audit_origins where tenant_id = TENANT and number = 1").await, json!([]));
    let mut conn = platform.db.admin().await;
    sqlx::raw_sql("set role atelier_gpu_worker; set search_path = gpu").execute(&mut conn).await.unwrap();
    let deleted: i64 =
        sqlx::query_scalar("select audit_delete(now(), 5)").fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    assert_eq!(deleted, 5);
    assert_eq!(verification(&platform.admin, LOG).await["broken"], json!([]));
}
