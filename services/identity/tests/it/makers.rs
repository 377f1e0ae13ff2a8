//! Whether the makers of objects in other services still have the rights for it.

use serde_json::{Value, json};
use testkit::{Client, SERVICE_TOKEN};

use crate::platform::Platform;

/// Since when each maker has had the rights, in the order of the makers.
async fn able_since(service: &Client, makers: &[Value]) -> Vec<Option<jiff::Timestamp>> {
    let answer = service.post("/internal/v1/maker-checks", json!({ "makers": makers })).await.expect(200);
    let times = answer.body["able_since"].as_array().unwrap();
    times.iter().map(|time| time.as_str().map(|time| time.parse().unwrap())).collect()
}

#[tokio::test]
async fn a_maker_is_able_as_long_as_the_account_the_role_and_the_key_last() {
    let platform = Platform::start().await;
    let service = platform.client.token(SERVICE_TOKEN);
    let admin = platform.admin().await;
    let (tenant, other) = (platform.tenant(&admin, "studio").await, platform.tenant(&admin, "other").await);
    let user = platform.user(&admin, "member@x.test").await;
    platform.member(&admin, &tenant, &user, "member").await;
    let owner = platform.user(&admin, "owner@x.test").await;
    platform.member(&admin, &tenant, &owner, "owner").await;
    let member = format!("/v1/tenants/{tenant}/members/{user}");
    let as_member = platform.as_user("member@x.test").await;
    let new = json!({ "name": "ci", "scopes": ["jobs:write"] });
    let key = as_member.post("/v1/api-keys", new).await.expect(201).str("id").to_owned();
    let maker =
        |tenant: &str, key: Option<&str>| json!({ "user_id": user, "tenant_id": tenant, "api_key_id": key });
    let oneself = json!({ "user_id": user, "tenant_id": null, "api_key_id": null });
    let nobody = json!({ "user_id": ids::UserId::new(), "tenant_id": tenant, "api_key_id": null });
    let all = [maker(&tenant, None), maker(&tenant, Some(&key)), oneself, maker(&other, None), nobody];
    let able = async || able_since(&service, &all).await;
    let first = able().await;
    let has = |times: &[Option<jiff::Timestamp>]| times.iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(has(&first), [true, true, true, false, false]);
    let unknown = maker(&tenant, Some(&ids::ApiKeyId::new().to_string()));
    assert_eq!(able_since(&service, &[unknown]).await, [None]);

    // a suspension of the tenant does not end the rights
    let path = format!("/v1/tenants/{tenant}");
    let _ = admin.patch(&path, "*", json!({ "state": "suspended" })).await.expect(200);
    assert_eq!(able().await, first);
    let _ = admin.patch(&path, "*", json!({ "state": "active" })).await.expect(200);
    // nor does a higher role
    let role = async |role| admin.patch(&member, "*", json!({ "role": role })).await.expect(200);
    let _ = role("owner").await;
    assert_eq!(able().await, first);
    // a viewer cannot make anything; a user who is promoted again has new rights
    let _ = role("viewer").await;
    assert_eq!(has(&able().await), [false, false, true, false, false]);
    let _ = role("member").await;
    let second = able().await;
    assert!(second[0] > first[0] && second[1] > first[1] && second[2] == first[2], "{second:?}");
    let account = format!("/v1/users/{user}");
    let _ = admin.patch(&account, "*", json!({ "disabled": true })).await.expect(200);
    assert_eq!(has(&able().await), [false; 5]);
    let _ = admin.patch(&account, "*", json!({ "disabled": false })).await.expect(200);
    let third = able().await;
    assert!((0..3).all(|n| third[n] > second[n]), "{third:?}");
    // a new password does not end the rights
    let _ = admin.patch(&account, "*", json!({ "password": "another fine password" })).await.expect(200);
    assert_eq!(able().await, third);
    // the rights of a key end with it
    let as_owner = platform.as_user("owner@x.test").await;
    let _ = as_owner.delete(&format!("/v1/api-keys/{key}")).await.expect(204);
    assert_eq!(has(&able().await), [true, false, true, false, false]);
    let _ = admin.delete(&member).await.expect(204);
    assert_eq!(has(&able().await), [false, false, true, false, false]);
    platform.member(&admin, &tenant, &user, "member").await;
    assert!(able().await[0] > third[0], "a member who returns has new rights");
    let _ = admin.delete(&account).await.expect(204);
    assert_eq!(has(&able().await), [false; 5]);

    let many = vec![maker(&tenant, None); 501];
    let refused = service.post("/internal/v1/maker-checks", json!({ "makers": many })).await;
    refused.expect_problem(422, "invalid-field");
}
