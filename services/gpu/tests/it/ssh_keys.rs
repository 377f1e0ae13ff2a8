//! Keys of users and of instances over HTTP.

use auth::Role;
use ids::{InstanceId, SshKeyId, TenantId};
use serde_json::json;

use crate::{
    harness::{Fixture, Setup},
    ssh::Person,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_keys_of_their_own() {
    let fixture = Fixture::with(Setup { units: 0, ..Setup::default() }).await;
    let person = Person::new(&fixture, fixture.tenant, Role::Viewer).await;
    let new = json!({ "public_key": person.public_key(), "name": "my laptop" });
    let keyed = person.api.key("add");
    let added = keyed.post("/v1/ssh-keys", new.clone()).await.expect(201);
    assert_eq!(added.str("name"), "my laptop");
    let line =
        std::process::Command::new("ssh-keygen").arg("-lf").arg(person.path("key.pub")).output().unwrap();
    assert!(String::from_utf8(line.stdout).unwrap().contains(added.str("fingerprint")));
    let again = keyed.post("/v1/ssh-keys", new.clone()).await.expect(201);
    assert_eq!((again.header("idempotency-replayed"), again.str("id")), (Some("true"), added.str("id")));
    person.api.post("/v1/ssh-keys", new.clone()).await.expect_problem(409, "ssh-key-exists");
    // another user may have the same key, and neither sees the other's
    let other = Person::new(&fixture, fixture.tenant, Role::Member).await;
    let _ = other.api.post("/v1/ssh-keys", new.clone()).await.expect(201);
    let listed = person.api.get("/v1/ssh-keys").await.expect(200);
    assert_eq!(listed.body["items"].as_array().unwrap().len(), 1);
    let path = format!("/v1/ssh-keys/{}", added.str("id"));
    other.api.delete(&path).await.expect_problem(404, "not-found");
    let _ = person.api.delete(&path).await.expect(204);
    let named = json!({ "public_key": person.public_key(), "name": "Zoe\u{308}" });
    let added = person.api.post("/v1/ssh-keys", named).await.expect(201);
    assert_eq!(added.str("name"), "Zo\u{eb}");
    let _ = person.api.delete(&format!("/v1/ssh-keys/{}", added.str("id"))).await.expect(204);
    person.api.delete(&path).await.expect_problem(404, "not-found");
    for (pointer, body) in [
        ("/public_key", json!({ "public_key": "nonsense" })),
        ("/public_key", json!({ "public_key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQC7" })),
        ("/name", json!({ "public_key": person.public_key(), "name": "" })),
        ("/surprise", json!({ "public_key": person.public_key(), "surprise": 1 })),
    ] {
        let refused = person.api.post("/v1/ssh-keys", body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    // the database itself shows a user's keys and answers to no other request
    let counts = async |tx: &mut db::Tx| -> (i64, i64) {
        let keys = "select count(*) from ssh_keys";
        let answers = "select count(*) from idempotency_keys where scope like 'own%'";
        let keys = sqlx::query_scalar(keys).fetch_one(&mut **tx).await.unwrap();
        (keys, sqlx::query_scalar(answers).fetch_one(&mut **tx).await.unwrap())
    };
    let mut as_user = fixture.service_db.user(other.user).await.unwrap();
    assert_eq!(counts(&mut as_user).await, (1, 1));
    let mut as_tenant = fixture.service_db.tenant(fixture.tenant).await.unwrap();
    assert_eq!(counts(&mut as_tenant).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_an_instance_are_its_tenants() {
    let fixture = Fixture::with(Setup { units: 0, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    let person = Person::new(&fixture, fixture.tenant, Role::Member).await;
    let path = format!("/v1/instances/{id}/ssh-keys");
    let new = json!({ "public_key": person.public_key() });
    let added = person.api.post(&path, new.clone()).await.expect(201);
    assert_eq!(added.str("name"), "laptop", "the comment of the key");
    person.api.post(&path, new.clone()).await.expect_problem(409, "ssh-key-exists");
    let viewer = fixture.user(fixture.tenant, Role::Viewer);
    assert_eq!(viewer.get(&path).await.expect(200).body["items"][0]["id"], added.body["id"]);
    viewer.post(&path, new.clone()).await.expect_problem(403, "forbidden");
    let one = format!("{path}/{}", added.str("id"));
    viewer.delete(&one).await.expect_problem(403, "forbidden");
    let stranger = fixture.user(TenantId::new(), Role::Owner);
    let missing = format!("/v1/instances/{}/ssh-keys", InstanceId::new());
    for path in [&path, &missing] {
        stranger.get(path).await.expect_problem(404, "not-found");
        stranger.post(path, new.clone()).await.expect_problem(404, "not-found");
        stranger.delete(&format!("{path}/{}", added.str("id"))).await.expect_problem(404, "not-found");
    }
    person.api.delete(&format!("{path}/{}", SshKeyId::new())).await.expect_problem(404, "not-found");
    let _ = person.api.delete(&one).await.expect(204);
    assert_eq!(person.api.get(&path).await.expect(200).body["items"], json!([]));
}
