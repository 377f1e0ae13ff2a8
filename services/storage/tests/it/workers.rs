//! Workers that fail, objects whose reconcile always fails, and clean-up.

use auth::Role;
use ids::TenantId;
use serde_json::json;
use testkit::eventually;

use crate::fixture::{Fixture, make, remove, specs};

#[tokio::test]
async fn the_service_survives_a_panic_of_each_worker() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    make(&member, "before", "archive", 1).await;
    let workers = &service.process.workers;
    let names = workers.names();
    let expected = [
        "storage.audit.retention",
        "storage.events.follow",
        "storage.events.retention",
        "storage.idempotency_keys.retention",
        "storage.makers.follow",
        "storage.object_store.housekeeping",
        "storage.operations.retention",
        "storage.revocations.follow",
        "storage.storages.follow",
        "storage.storages.follow.uk-1",
        "storage.storages.reconcile",
    ];
    assert_eq!(names, expected);
    for name in &names {
        workers.inject_panic(name);
        eventually(&format!("{name} runs again"), async || {
            (workers.status(name) == Some((true, 1))).then_some(())
        })
        .await;
    }
    for (name, spec) in [("bucket", "archive"), ("volume", "ssd")] {
        let made = make(&member, name, spec, 1).await;
        remove(&member, made.str("id")).await;
    }
    eventually("the service is ready", async || {
        (service.client.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_storage_that_always_fails_does_not_stop_others() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let (poisoned, member) =
        (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    make(&poisoned, "poison", "archive", 1).await;
    let mut admin = fixture.db.admin().await;
    // a failure without a reason cannot be read
    let poison = "update storage.storages set state = 'failed', reason = null, wake_at = now()";
    sqlx::query(poison).execute(&mut admin).await.unwrap();
    for n in 0..5 {
        let made = make(&member, &format!("sound-{n}"), "archive", 1).await;
        remove(&member, made.str("id")).await;
    }
    eventually("the poison is retried with backoff", async || {
        let failures = "select failures from storage.storages where name = 'poison'";
        let failures: i32 = sqlx::query_scalar(failures).fetch_one(&mut admin).await.unwrap();
        (failures >= 2).then_some(())
    })
    .await;
    assert_eq!(service.process.workers.status("storage.storages.reconcile"), Some((true, 0)));
    eventually("the service is ready", async || {
        (service.client.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn old_operations_are_deleted_and_others_stay() {
    let fixture = Fixture::new().await;
    let mut admin = fixture.db.admin().await;
    let old = "insert into storage.operations (id, tenant_id, target, kind, state, finished_at)
               select gen_random_uuid(), gen_random_uuid(), 'stor_x', 'create_storage', 'succeeded', finished_at
               from (values (now() - interval '91 days'), (now() - interval '89 days'), (null)) v (finished_at)";
    sqlx::query(old).execute(&mut admin).await.unwrap();
    let service = fixture.start().await;
    let left = async || {
        let left = "select count(*) from storage.operations";
        sqlx::query_scalar::<_, i64>(left).fetch_one(&mut fixture.db.admin().await).await.unwrap()
    };
    eventually("the old one is gone", async || (left().await == 2).then_some(())).await;
    service.stop().await;
    assert_eq!(left().await, 2);
}

#[tokio::test]
async fn old_entries_of_the_audit_log_are_deleted_and_the_chain_still_verifies() {
    let mut fixture = Fixture::new().await;
    fixture.config.audit.days = 30.try_into().unwrap();
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    specs(&admin).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let owner = service.client.token(&fixture.issuer.user(tenant, Role::Owner));
    for n in 0..4 {
        let order = json!({ "name": format!("art-{n}"), "storage_spec": "archive", "size_gib": 1 });
        let _ = member.post("/v1/storages", order).await.expect(202);
    }
    let numbers = async || {
        let page = owner.get("/v1/storage-audit").await.expect(200).body;
        let numbers = page["items"].as_array().unwrap().iter().map(|entry| entry["number"].as_i64().unwrap());
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(numbers().await, [4, 3, 2, 1]);
    // the first is 31 days old, the second 29
    let mut conn = fixture.db.admin().await;
    sqlx::raw_sql(
        "alter table storage.audit_entries disable trigger all;
         update storage.audit_entries set at = at - interval '31 days'
         where number = 1 and tenant_id <> '00000000-0000-0000-0000-000000000000';
         update storage.audit_entries set at = at - interval '29 days'
         where number = 2 and tenant_id <> '00000000-0000-0000-0000-000000000000';
         alter table storage.audit_entries enable trigger all",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    service.process.workers.inject_panic("storage.audit.retention");
    eventually("the oldest entry is deleted", async || (numbers().await == [4, 3, 2]).then_some(())).await;
    // back to what was hashed
    sqlx::raw_sql(
        "alter table storage.audit_entries disable trigger all;
         update storage.audit_entries set at = at + interval '29 days'
         where number = 2 and tenant_id <> '00000000-0000-0000-0000-000000000000';
         alter table storage.audit_entries enable trigger all",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    let verified = admin.get("/v1/platform-storage-audit/verification").await.expect(200).body;
    assert_eq!(verified["broken"], json!([]), "{verified}");
    let order = json!({ "name": "late", "storage_spec": "archive", "size_gib": 1 });
    let _ = member.post("/v1/storages", order).await.expect(202);
    assert_eq!(numbers().await, [5, 4, 3, 2]);
}

#[tokio::test]
async fn a_changed_entry_of_the_audit_log_is_noticed() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    specs(&admin).await;
    let member = fixture.member(&service, TenantId::new());
    for n in 0..3 {
        let order = json!({ "name": format!("art-{n}"), "storage_spec": "archive", "size_gib": 1 });
        let _ = member.post("/v1/storages", order).await.expect(202);
    }
    let broken = async |entries: u32| {
        service.process.workers.inject_panic("storage.audit.retention");
        let line = format!("audit_broken_entries {entries}\n");
        let rounds = service.process.workers.status("storage.audit.retention").map(|(_, failures)| failures);
        eventually("the worker has compared the entries", async || {
            let again =
                service.process.workers.status("storage.audit.retention").map(|(_, failures)| failures);
            (again > rounds && service.process.metrics.text().contains(&line)).then_some(())
        })
        .await;
    };
    broken(0).await;
    let mut conn = fixture.db.admin().await;
    sqlx::raw_sql(
        "alter table storage.audit_entries disable trigger all;
         update storage.audit_entries set entry = replace(entry, '202', '200')
         where number = 2 and tenant_id <> '00000000-0000-0000-0000-000000000000';
         alter table storage.audit_entries enable trigger all",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    broken(1).await;
}
