//! Supervision: a panic in a worker, or a row that it cannot handle, does not stop the service.

use serde_json::json;
use sqlx::PgConnection;
use testkit::eventually;
use uuid::Uuid;

use crate::{
    platform::{ADMIN, Platform},
    signing_keys::kids,
};

/// Makes the worker panic, and waits until it runs again.
async fn panic(platform: &Platform, name: &str) {
    let workers = &platform.process.workers;
    workers.inject_panic(name);
    eventually("the worker runs again", async || {
        workers.status(name).filter(|(running, failures)| *running && *failures == 1)
    })
    .await;
}

async fn wait_until_empty(conn: &mut PgConnection, count: &'static str) {
    eventually("old rows are deleted", async || {
        let left: i64 = sqlx::query_scalar(count).fetch_one(&mut *conn).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn every_worker_recovers_from_a_panic() {
    let platform = Platform::start().await;
    let names = platform.process.workers.names();
    let expected = [
        "identity.api_keys.reconcile",
        "identity.audit.retention",
        "identity.bootstrap.reconcile",
        "identity.invitations.retention",
        "identity.revocation_feed.follow",
        "identity.revocations.follow",
        "identity.revocations.retention",
        "identity.sign_in.retention",
        "identity.signing_keys.reconcile",
        "identity.tenants.follow",
        "identity.tenants.reconcile",
    ];
    assert_eq!(names, expected);
    for name in &names {
        panic(&platform, name).await;
    }
    let _ = platform.client.get("/readyz").await.expect(200);
    let _ = platform.client.get("/healthz").await.expect(200);
    platform.sign_in(ADMIN).await;
    let text = platform.client.get("/metrics").await.expect(200).text;
    assert!(text.contains("db_client_connection_max{pool=\"app\"} 10\n"), "{text}");
    assert!(text.contains("service_ready 1\n"), "{text}");
    testkit::metrics::assert_documented(&text);
}

#[tokio::test]
async fn keys_are_still_rotated_after_a_panic() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    panic(&platform, "identity.signing_keys.reconcile").await;
    let next = admin.post("/v1/signing-keys/rotate", json!(null)).await.expect(202);
    eventually("the next key is published", async || {
        kids(&platform.client).await.contains(next.str("id")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn old_rows_are_still_deleted_after_a_panic() {
    let platform = Platform::start().await;
    let mut conn = platform.db.admin().await;
    let old = "insert into identity.sign_in_throttles
               values ('\\x00', '', 1, now() - interval '2 days', now() - interval '2 days')";
    sqlx::query(old).execute(&mut conn).await.unwrap();
    let expired = "insert into identity.passkey_challenges (hash, state, expires_at)
                   values ('\\x00', '{}', now() - interval '1 second')";
    sqlx::query(expired).execute(&mut conn).await.unwrap();
    // the next regular round is a minute away
    panic(&platform, "identity.sign_in.retention").await;
    wait_until_empty(&mut conn, "select count(*) from identity.sign_in_throttles").await;
    wait_until_empty(&mut conn, "select count(*) from identity.passkey_challenges").await;
}

#[tokio::test]
async fn a_key_that_cannot_be_decrypted_does_not_stop_the_others() {
    let platform = Platform::start().await;
    let mut conn = platform.db.admin().await;
    let poison = "insert into identity.signing_keys (id, public_jwk, wrapped_by, private_key, active_from)
                  values ($1, '{}', 'unknown', '\\x00', now() - interval '1 second')";
    sqlx::query(poison).bind(Uuid::now_v7()).execute(&mut conn).await.unwrap();
    let before = kids(&platform.client).await;
    let admin = platform.admin().await;
    let next = admin.post("/v1/signing-keys/rotate", json!(null)).await.expect(202);
    eventually("the next key is published", async || {
        kids(&platform.client).await.contains(next.str("id")).then_some(())
    })
    .await;
    assert!(kids(&platform.client).await.is_superset(&before));
    platform.sign_in(ADMIN).await;
}
