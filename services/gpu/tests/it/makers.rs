//! SSH keys and share links end with those who made them.

use auth::{Claims, Revocation, Role, session_of};
use ids::{ApiKeyId, InstanceId, UserId};
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    harness::{Fixture, Setup},
    ssh::Person,
};

impl Fixture {
    /// A client with a token of this user, or of their API key.
    fn client_of(&self, sub: UserId, key: Option<ApiKeyId>) -> Client {
        let claims = self.issuer.claims(Some((self.tenant, Role::Member)), false);
        let sid = key.map(session_of);
        Client::new(&self.base).token(&self.issuer.sign(&Claims { sub, key, sid, ..claims }))
    }
}

/// Ids and makers of a list.
async fn listed(client: &Client, path: &str) -> Vec<(String, Value, Value)> {
    let items = client.get(path).await.expect(200).body["items"].as_array().unwrap().clone();
    let of = |one: Value| {
        (one["id"].as_str().unwrap().to_owned(), one["created_by"].clone(), one["created_by_key"].clone())
    };
    items.into_iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_links_end_with_the_user_and_the_api_key_that_made_them() {
    let fixture = Fixture::with(Setup { units: 0, ..Setup::default() }).await;
    let mut lines = Vec::new();
    for _ in 0..3 {
        lines.push(Person::new(&fixture, fixture.tenant, Role::Member).await.public_key());
    }
    let (user, key) = (UserId::new(), ApiKeyId::new());
    let (person, script) = (fixture.client_of(user, None), fixture.client_of(user, Some(key)));
    let other = fixture.client_of(UserId::new(), None);
    let mut order = Fixture::order();
    order["ssh_keys"] = json!([lines[0]]);
    let made = script.post("/v1/instances", order).await.expect(202);
    let id: InstanceId = made.str("id").parse().unwrap();
    let (keys, links) = (format!("/v1/instances/{id}/ssh-keys"), format!("/v1/instances/{id}/share-links"));
    let link = json!({ "name": "for Ann", "expires_at": crate::share_links::in_hours(24) });
    for (client, line) in [(&person, &lines[1]), (&other, &lines[2])] {
        let _ = client.post(&keys, json!({ "public_key": line })).await.expect(201);
    }
    for client in [&person, &script, &other] {
        let _ = client.post(&links, link.clone()).await.expect(201);
    }
    for (client, line) in [(&person, &lines[0]), (&script, &lines[1])] {
        let _ = client.post("/v1/ssh-keys", json!({ "public_key": line })).await.expect(201);
    }
    let by = async |path: &str| {
        let all = listed(&other, path).await;
        let count = |wanted: (Value, Value)| {
            all.iter().filter(|(_, user, key)| (user.clone(), key.clone()) == wanted).count()
        };
        (all.len(), count((json!(user), Value::Null)), count((json!(user), json!(key))))
    };
    assert_eq!((by(&keys).await, by(&links).await), ((3, 1, 1), (3, 1, 1)));
    assert_eq!(listed(&person, "/v1/ssh-keys").await.len(), 2);

    fixture.issuer.revoke(Revocation { session_id: Some(session_of(key)), ..Revocation::default() });
    let ended = async |expected: (usize, usize, usize)| {
        eventually("the others have ended", async || {
            (by(&keys).await == expected && by(&links).await == expected).then_some(())
        })
        .await;
    };
    ended((2, 1, 0)).await;
    eventually("the user's key has ended", async || {
        (listed(&person, "/v1/ssh-keys").await.iter().all(|(_, _, key)| key.is_null())).then_some(())
    })
    .await;
    fixture.issuer.revoke(Revocation {
        user_id: Some(user),
        tenant_id: Some(fixture.tenant),
        session_id: None,
    });
    ended((1, 0, 0)).await;
    // a key that the user has added in person is the user's own
    let own = "select count(*) from gpu.ssh_keys where user_id = $1";
    let own: i64 =
        sqlx::query_scalar(own).bind(user.uuid()).fetch_one(&mut fixture.db.admin().await).await.unwrap();
    assert_eq!(own, 1);
    let entries = "select entry from gpu.audit_entries where tenant_id = $1 and entry like '%gpu end_%'";
    let entries = sqlx::query_scalar::<_, String>(entries).bind(fixture.tenant.uuid());
    let entries = entries.fetch_all(&mut fixture.db.admin().await).await.unwrap();
    assert_eq!(entries.len(), 4, "{entries:?}");
}
