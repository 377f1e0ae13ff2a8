//! What a tenant may have, as administrators set it.

use ids::TenantId;
use serde_json::json;

use crate::fixture::{Fixture, make, remove, specs};

#[tokio::test]
async fn administrators_set_what_a_tenant_may_have() {
    let mut fixture = Fixture::new().await;
    fixture.config.limits = atelier_storage::LimitsConfig { storages_per_tenant: 3, gib_per_tenant: 50 };
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    specs(&admin).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let quota = async || member.get("/v1/storage-quota").await.expect(200).body;
    let none = json!({ "storages": 0, "gib": 0 });
    assert_eq!(quota().await, json!({ "limits": { "storages": 3, "gib": 50 }, "used": none }));

    let path = format!("/v1/platform-storage-quotas/{tenant}");
    assert_eq!(admin.get(&path).await.expect(204).text, "");
    let put = async |etag: &str, limits| {
        admin.header("if-match", etag).put(&format!("{path}?reason=trial"), limits).await
    };
    let set = put("*", json!({ "gib": 10 })).await.expect(200);
    assert_eq!(set.body, json!({ "tenant_id": tenant, "limits": { "storages": null, "gib": 10 } }));
    assert_eq!(quota().await["limits"], json!({ "storages": 3, "gib": 10 }));

    let order = |name: &str, size: i64| json!({ "name": name, "storage_spec": "archive", "size_gib": size });
    let refused = member.post("/v1/storages", order("a", 11)).await.expect_problem(409, "quota-exceeded");
    assert_eq!((refused.str("quota"), &refused.body["limit"]), ("storage_gib", &json!(10)));
    let made = make(&member, "a", "archive", 10).await;
    assert_eq!(quota().await["used"], json!({ "storages": 1, "gib": 10 }));
    // what exists stays when the limit is lowered, and does not grow
    let changed = put(set.header("etag").unwrap(), json!({ "storages": 5, "gib": 5 })).await.expect(200);
    put(set.header("etag").unwrap(), json!({})).await.expect_problem(412, "changed-meanwhile");
    let grow =
        member.patch(&format!("/v1/storages/{}", made.str("id")), "*", json!({ "size_gib": 20 })).await;
    grow.expect_problem(409, "quota-exceeded");
    assert_eq!(admin.get(&path).await.expect(200).body, changed.body);
    let list = admin.get("/v1/platform-storage-quotas").await.expect(200).body;
    assert_eq!(list["items"], json!([changed.body]));

    // another tenant has what is configured, and no member sets limits
    let stranger = fixture.member(&service, TenantId::new());
    let other = stranger.get("/v1/storage-quota").await.expect(200).body;
    assert_eq!(other["limits"], json!({ "storages": 3, "gib": 50 }));
    stranger.get(&path).await.expect_problem(403, "forbidden");
    let own = member.header("if-match", "*").put(&format!("{path}?reason=mine"), json!({})).await;
    own.expect_problem(403, "forbidden");

    put("*", json!({ "gib": -1 })).await.expect_problem(422, "invalid-field");
    let _ = admin.delete(&format!("{path}?reason=over")).await.expect(204);
    assert_eq!(quota().await["limits"], json!({ "storages": 3, "gib": 50 }));
    remove(&member, made.str("id")).await;
}
