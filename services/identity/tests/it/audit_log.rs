//! The audit log's filters, which all services share.

use serde_json::{Value, json};
use sqlx::Connection;
use testkit::Client;

use crate::platform::Platform;

/// All entries that match, newest first, read one by one.
async fn found(owner: &Client, filter: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = owner.get(&format!("/v1/audit?limit=1{filter}{cursor}")).await.expect(200).body;
        all.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { return all };
        cursor = format!("&cursor={next}");
    }
}

/// A write by a service on its own.
async fn service_entry(platform: &Platform, tenant: &str) {
    let tenant: ids::TenantId = tenant.parse().unwrap();
    let what = json!({ "user_id": null, "session_id": null, "is_admin": false, "service": "gpu", "operation": "PUT /internal/v1/x",
        "path": "/internal/v1/x", "created": null, "fields": [], "status": 200, "request_id": null });
    let mut conn = platform.db.admin().await;
    let append = "select set_config('atelier.tenant', $1, false), identity.audit_append($2, '{}')";
    sqlx::query(append).bind(tenant.uuid().to_string()).bind(what).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

#[tokio::test]
async fn entries_are_found_by_person_kind_operation_and_time() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let mut owners = Vec::new();
    for email in ["ada@x.test", "bea@x.test"] {
        let id = platform.user(&admin, email).await;
        platform.member(&admin, &tenant, &id, "owner").await;
        owners.push((id, platform.as_user(email).await));
    }
    let [(ada, as_ada), (_, as_bea)] = owners.try_into().ok().unwrap();
    let invitations = format!("/v1/tenants/{tenant}/invitations");
    for (owner, guest) in [(&as_ada, "one"), (&as_bea, "two"), (&as_ada, "three")] {
        let body = json!({ "email": format!("{guest}@x.test"), "role": "member" });
        let _ = owner.post(&invitations, body).await.expect(201);
        service_entry(&platform, &tenant).await;
    }

    let all = found(&as_bea, "").await;
    let middle = all[all.len() / 2]["at"].as_str().unwrap().to_owned();
    let operation = "POST /v1/tenants/{id}/invitations";
    let path = "POST%20/v1/tenants/%7Bid%7D/invitations";
    type Rule<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let rules: Vec<(String, Rule)> = vec![
        (format!("&user_id={ada}"), Box::new(|it| it["user_id"] == ada)),
        ("&by=person".into(), Box::new(|it| !it["user_id"].is_null())),
        ("&by=service".into(), Box::new(|it| it["user_id"].is_null())),
        (format!("&operation={path}"), Box::new(|it| it["operation"] == operation)),
        (format!("&from={middle}"), Box::new(|it| it["at"].as_str() >= Some(&middle))),
        (format!("&to={middle}"), Box::new(|it| it["at"].as_str() < Some(&middle))),
        (
            format!("&user_id={ada}&operation={path}&from={middle}"),
            Box::new(|it| {
                it["user_id"] == ada && it["operation"] == operation && it["at"].as_str() >= Some(&middle)
            }),
        ),
    ];
    for (filter, is_meant) in rules {
        let meant: Vec<_> = all.iter().filter(|it| is_meant(it)).cloned().collect();
        assert!((1..all.len()).contains(&meant.len()), "{filter}");
        assert_eq!(found(&as_bea, &filter).await, meant, "{filter}");
    }
    assert_eq!(found(&as_bea, "&operation=DELETE%20/v1/nothing").await, [json!(null); 0]);
    for filter in ["by=robot", "user_id=ada", "from=yesterday", "who=ada"] {
        let refused = as_bea.get(&format!("/v1/audit?{filter}")).await;
        refused.expect_problem(422, "invalid-field");
    }
    let of_platform =
        admin.get(&format!("/v1/platform-audit?tenant_id={tenant}&by=service")).await.expect(200);
    assert_eq!(of_platform.body["items"].as_array().unwrap().len(), 3);
}
