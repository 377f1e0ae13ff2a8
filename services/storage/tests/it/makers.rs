//! Access keys end with those who made them.

use auth::{Claims, Revocation, Role, session_of};
use ids::{ApiKeyId, TenantId, UserId};
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    buckets::{put, s3},
    fixture::{Fixture, Service, make, specs},
};

/// A client with a token of this user, or of their API key.
fn client(
    fixture: &Fixture,
    service: &Service,
    tenant: TenantId,
    role: Role,
    (sub, key): (UserId, Option<ApiKeyId>),
) -> Client {
    let claims = fixture.issuer.claims(Some((tenant, role)), false);
    let sid = key.map(session_of);
    service.client.token(&fixture.issuer.sign(&Claims { sub, key, sid, ..claims }))
}

#[tokio::test]
async fn an_access_key_opens_nothing_after_the_rights_of_its_maker() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let (tenant, user, key) = (TenantId::new(), UserId::new(), ApiKeyId::new());
    let person = client(&fixture, &service, tenant, Role::Member, (user, None));
    let script = client(&fixture, &service, tenant, Role::Member, (user, Some(key)));
    let owner_id = UserId::new();
    let owner = client(&fixture, &service, tenant, Role::Owner, (owner_id, None));
    let bucket = make(&owner, "art", "archive", 1).await;
    let path = format!("/v1/storages/{}/credentials", bucket.str("id"));
    let create = async |member: &Client| member.post(&path, Value::Null).await.expect(201).body;
    let [by_person, by_key, taken, by_owner, tenants] = [
        create(&person).await,
        create(&script).await,
        create(&person).await,
        create(&owner).await,
        create(&person).await,
    ];
    let take_over = format!("{path}/{}/take-over", taken["access_key_id"].as_str().unwrap());
    person.post(&take_over, Value::Null).await.expect_problem(403, "forbidden");
    assert_eq!(owner.post(&take_over, Value::Null).await.expect(200).str("created_by"), owner_id.to_string());
    let unknown = owner.post(&format!("{path}/AT0/take-over"), Value::Null).await;
    unknown.expect_problem(404, "not-found");
    // one from before makers were recorded belongs to the tenant
    let null = "update storage.credentials set created_by = null, created_by_key = null, rights_at = null
                where access_key_id = $1";
    let query = sqlx::query(null).bind(tenants["access_key_id"].as_str().unwrap());
    query.execute(&mut fixture.db.admin().await).await.unwrap();
    let listed = owner.get(&path).await.expect(200).body["items"].clone();
    let makers = |listed: &Value| {
        let items = listed.as_array().unwrap().iter();
        items.map(|one| (one["created_by"].clone(), one["created_by_key"].clone())).collect::<Vec<_>>()
    };
    let [of_user, of_key, of_owner] = [(user, Value::Null), (user, json!(key)), (owner_id, Value::Null)]
        .map(|(user, key)| (json!(user), key));
    let nobody = (Value::Null, Value::Null);
    assert_eq!(makers(&listed), [of_user, of_key, of_owner.clone(), of_owner.clone(), nobody.clone()]);

    let opens = async |credential: &Value| {
        let bucket = credential["bucket"].as_str().unwrap();
        put(&s3(credential), bucket, "a", 1).await.is_ok()
    };
    for credential in [&by_person, &by_key, &taken, &by_owner, &tenants] {
        assert!(opens(credential).await);
    }
    fixture.issuer.revoke(Revocation { session_id: Some(session_of(key)), ..Revocation::default() });
    eventually("the API key's access key is refused", async || (!opens(&by_key).await).then_some(())).await;
    assert!(opens(&by_person).await);
    fixture.issuer.revoke(Revocation { user_id: Some(user), tenant_id: Some(tenant), session_id: None });
    eventually("the member's access key is refused", async || (!opens(&by_person).await).then_some(())).await;
    for credential in [&taken, &by_owner, &tenants] {
        assert!(opens(credential).await, "{credential}");
    }
    let left = async || {
        let listed = owner.get(&path).await.expect(200).body["items"].clone();
        (makers(&listed) == [of_owner.clone(), of_owner.clone(), nobody.clone()]).then_some(())
    };
    eventually("they are not listed", left).await;
    let entries = "select entry from storage.audit_entries where tenant_id = $1 and entry like '%end_storage_credential%'";
    let entries: Vec<String> = sqlx::query_scalar(entries)
        .bind(tenant.uuid())
        .fetch_all(&mut fixture.db.admin().await)
        .await
        .unwrap();
    assert_eq!(entries.len(), 2, "{entries:?}");
    service.stop().await;
}
