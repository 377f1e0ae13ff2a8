//! How connections over SSH end, and their record.

use std::process::Stdio;

use auth::{Revocation, Role};
use ids::InstanceId;
use serde_json::{Value, json};
use testkit::eventually;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::Child,
};

use crate::{harness::Fixture, ssh::Person, streams::with_pod};

/// A session that lasts, once its command runs.
async fn lasting(person: &Person, id: InstanceId) -> Child {
    let mut child = person.ssh(id, &["echo begun; exec cat"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).await.unwrap();
    assert_eq!(line, "begun\n");
    child
}

/// What `ssh` says at the end of a session that the service ends.
async fn told(mut child: Child) -> String {
    let mut said = String::new();
    let ended = async {
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        child.wait().await.unwrap()
    };
    let status =
        tokio::time::timeout(std::time::Duration::from_secs(30), ended).await.expect("the session ends");
    assert_ne!(status.code(), Some(0));
    said
}

/// The record of the instance's connections, newest first, as an owner reads it.
async fn record(fixture: &Fixture, id: InstanceId) -> Vec<Value> {
    let owner = fixture.user(fixture.tenant, Role::Owner);
    let page = owner.get(&format!("/v1/ssh-sessions?instance_id={id}")).await.expect(200);
    page.body["items"].as_array().unwrap().clone()
}

async fn recorded(fixture: &Fixture, id: InstanceId, reason: &str) -> Value {
    eventually(&format!("the record says {reason}"), async || {
        record(fixture, id).await.into_iter().find(|session| session["end_reason"] == reason)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_users_rights_ends_connections() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let (removed, stays) = (Person::with_key(&fixture).await, Person::with_key(&fixture).await);
    let (ends, mut goes_on) = (lasting(&removed, id).await, lasting(&stays, id).await);
    fixture.neighbours.set_role(fixture.tenant, removed.user, None);
    fixture.issuer.revoke(Revocation {
        user_id: Some(removed.user),
        tenant_id: Some(fixture.tenant),
        ..Revocation::default()
    });
    assert!(told(ends).await.contains("your rights have ended"));
    assert_eq!(removed.run(id, "true").await.status, 255);
    let session = recorded(&fixture, id, "rights_ended").await;
    assert_eq!(session["user_id"], json!(removed.user));
    assert_eq!(session["commands"], 1);
    assert_eq!(session["key_owner"], "user");
    assert!(session["client_address"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(session["ended_at"].is_string() && session["started_at"].is_string());
    let keys = removed.api.get("/v1/ssh-keys").await.expect_problem(401, "unauthenticated");
    drop(keys);
    // others go on
    assert!(goes_on.try_wait().unwrap().is_none());
    assert_eq!(stays.run(id, "true").await.status, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_key_ends_its_connections() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let replica = fixture.replica().await;
    let session = lasting(&person, id).await;
    let keys = person.api.get("/v1/ssh-keys").await.expect(200);
    let key = keys.body["items"][0]["id"].as_str().unwrap().to_owned();
    // by another replica than the one that has the connection
    let other = testkit::Client::new(&replica.base).token(&person.token);
    let _ = other.delete(&format!("/v1/ssh-keys/{key}")).await.expect(204);
    assert!(told(session).await.contains("the key was deleted"));
    assert_eq!(person.run(id, "true").await.status, 255);
    let _ = recorded(&fixture, id, "key_deleted").await;
    replica.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_instance_ends_connections() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let mut ssh = person.program("ssh");
    let idle = ssh.args(["-N", &format!("{id}@127.0.0.1")]).spawn().unwrap();
    eventually("the connection is open", async || (record(&fixture, id).await.len() == 1).then_some(()))
        .await;
    fixture.act(id, "stop").await;
    assert!(told(idle).await.contains("the instance is no longer running"));
    let _ = recorded(&fixture, id, "instance_not_running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_tenant_has_no_connections() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let session = lasting(&person, id).await;
    // as the identity service does; the revocation comes by another way, and may be late
    let order =
        json!({ "generation": 1, "state": "suspended", "stop_instances": false, "delete_storages": false });
    let _ =
        fixture.identity().put(&format!("/internal/v1/tenants/{}", fixture.tenant), order).await.expect(200);
    assert!(told(session).await.contains("the tenant is suspended"));
    assert_eq!(person.run(id, "true").await.status, 255);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_stops_tells_its_clients_and_waits_for_them() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    let session = lasting(&person, id).await;
    fixture.process.shutdown.begin();
    fixture.process.shutdown.finish().await;
    assert!(told(session).await.contains("the service is restarting; connect again"));
    let ended = "select end_reason from gpu.ssh_sessions";
    let mut admin = fixture.db.admin().await;
    let reason: Option<String> = sqlx::query_scalar(ended).fetch_one(&mut admin).await.unwrap();
    assert_eq!(reason.as_deref(), Some("service_stopped"), "recorded before the process ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_and_administrators_read_the_record() {
    let fixture = Fixture::start().await;
    let id = with_pod(&fixture).await;
    let person = Person::with_key(&fixture).await;
    assert_eq!(person.run(id, "true").await.status, 0);
    let session = recorded(&fixture, id, "disconnected").await;
    person.api.get("/v1/ssh-sessions").await.expect_problem(403, "forbidden");
    person.api.get("/v1/platform-ssh-sessions").await.expect_problem(403, "forbidden");
    let stranger = fixture.user(ids::TenantId::new(), Role::Owner);
    assert_eq!(stranger.get("/v1/ssh-sessions").await.expect(200).body["items"], json!([]));
    let path = format!("/v1/platform-ssh-sessions?tenant_id={}", fixture.tenant);
    assert_eq!(fixture.admin().get(&path).await.expect(200).body["items"], json!([session]));
    // a connection of a replica that was killed is ended by another
    let lost = "update gpu.ssh_sessions set ended_at = null, end_reason = null, confirmed_at = now() - interval '6 minutes'";
    assert_eq!(fixture.execute(lost).await, 1);
    fixture.process.workers.inject_panic("gpu.ssh.housekeeping");
    let _ = recorded(&fixture, id, "service_lost").await;
}
