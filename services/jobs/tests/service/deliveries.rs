//! Messages of webhooks are delivered at least once, whatever fails.

use ids::TenantId;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::eventually;
use tokio::net::TcpListener;

use crate::{
    endpoint::{Endpoint, all_are, attempted, create, deliveries, execute, make_due, start},
    fixture::{Fixture, pool, submit},
    fleet::Worker,
};

#[tokio::test]
async fn events_are_sent_signed_and_again_until_they_are_accepted() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[500, 302, 404]).await;
    let (hook, secret) = create(&member, &url, json!([])).await;
    let job = submit(&member, json!({})).await.str("id").to_owned();
    for count in 1..4 {
        let _ = attempted(&member, &hook, count).await;
        make_due(&fixture).await;
    }
    let delivered = all_are(&member, &hook, "delivered").await;
    let attempts = delivered[0]["attempts"].as_array().unwrap();
    let results: Vec<_> = attempts.iter().map(|one| (one["status"].clone(), one["error"].clone())).collect();
    let refused = |status: u16| (json!(status), json!("refused"));
    assert_eq!(results, [refused(500), refused(302), refused(404), (json!(204), Value::Null)]);
    let received = endpoint.received();
    assert_eq!(received.len(), 4, "redirects are not followed");
    for message in &received {
        assert_eq!(message.id, format!("{job}-1"));
        assert!(message.is_signed_with(&secret));
        assert_eq!(message.message()["type"], "job.submitted");
    }
    let event = member.get("/v1/job-events").await.expect(200).body["items"][0].clone();
    assert_eq!(received[0].message()["data"], event);
    let mut forged = received[0].clone();
    forged.body.push(' ');
    assert!(!forged.is_signed_with(&secret));
    let read = member.get(&hook).await.expect(200);
    assert_eq!((&read.body["failing_since"], read.body.get("secret")), (&Value::Null, None));
    assert!(read.body["last_success_at"].is_string());
    service.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_was_away_gets_what_it_has_missed() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let (hook, secret) = create(&member, &format!("http://127.0.0.1:{port}/"), json!([])).await;
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let failed = attempted(&member, &hook, 1).await;
    assert_eq!(
        (&failed["state"], &failed["attempts"][0]["error"]),
        (&json!("pending"), &json!("no_connection"))
    );
    let next: Timestamp = failed["next_attempt_at"].as_str().unwrap().parse().unwrap();
    let delay = next.duration_since(fixture.in_seconds(0)).as_secs();
    assert!((0..=5).contains(&delay), "{delay}");
    assert!(member.get(&hook).await.expect(200).body["failing_since"].is_string());
    let endpoint = Endpoint::on(port).await;
    make_due(&fixture).await;
    let came = endpoint.count(1).await;
    assert_eq!(came[0].id, format!("{job}-1"));
    assert!(came[0].is_signed_with(&secret));
    let _ = all_are(&member, &hook, "delivered").await;
    assert_eq!(member.get(&hook).await.expect(200).body["failing_since"], Value::Null);
    service.stop().await;
}

/// Ends the connection of a replica whose `statement` waits for a lock.
async fn kill_waiting(fixture: &Fixture, statement: &str) {
    eventually("a replica waits for the lock", async || {
        let mut conn = fixture.db.admin().await;
        let ended: i64 = sqlx::query_scalar(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where wait_event_type = 'Lock' and query like '%' || $1 || '%' and datname = current_database()",
        )
        .bind(statement)
        .fetch_one(&mut conn)
        .await
        .unwrap();
        (ended > 0).then_some(())
    })
    .await;
}

/// A replica that cannot record what it has sent, as after a crash: another one sends the message again.
#[tokio::test]
async fn what_was_sent_and_not_recorded_is_sent_once_more_with_the_same_id() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let mut conn = fixture.db.admin().await;
    let mut tx = conn.begin().await.unwrap();
    let lock = "select id from jobs.webhooks for no key update";
    let _ = sqlx::query(lock).execute(&mut *tx).await.unwrap();
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let _ = endpoint.count(1).await;
    let other = fixture.start().await;
    execute(
        &fixture,
        "update jobs.webhook_deliveries set lease_owner = null, lease_until = null, wake_at = now()",
    )
    .await;
    let twice = endpoint.count(2).await;
    assert_eq!(twice[1].id, format!("{job}-1"));
    assert_eq!(twice[0].id, twice[1].id);
    tx.rollback().await.unwrap();
    let delivered = all_are(&member, &hook, "delivered").await;
    assert_eq!(delivered[0]["attempts"].as_array().unwrap().len(), 1);
    for replica in [service, other] {
        replica.stop().await;
    }
    assert_eq!(endpoint.received().len(), 2);
    conn.close().await.unwrap();
}

#[tokio::test]
async fn a_message_of_which_the_record_fails_is_sent_again() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let mut conn = fixture.db.admin().await;
    let mut tx = conn.begin().await.unwrap();
    let lock = "select id from jobs.webhooks for no key update";
    let _ = sqlx::query(lock).execute(&mut *tx).await.unwrap();
    let _ = submit(&member, json!({})).await;
    let _ = endpoint.count(1).await;
    kill_waiting(&fixture, "update webhooks").await;
    tx.rollback().await.unwrap();
    let twice = endpoint.count(2).await;
    assert_eq!(twice[0].id, twice[1].id);
    let _ = all_are(&member, &hook, "delivered").await;
    conn.close().await.unwrap();
    service.stop().await;
}

/// The connection is closed after the position in the feed has been updated and before the delivery is written.
#[tokio::test]
async fn an_event_is_delivered_although_a_replica_dies_before_its_delivery_is_written() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let mut conn = fixture.db.admin().await;
    let mut tx = conn.begin().await.unwrap();
    let lock = "lock table jobs.webhook_deliveries in share mode";
    let _ = sqlx::query(lock).execute(&mut *tx).await.unwrap();
    let job = submit(&member, json!({})).await.str("id").to_owned();
    kill_waiting(&fixture, "insert into webhook_deliveries").await;
    assert_eq!(endpoint.received().len(), 0);
    let other = fixture.start().await;
    tx.rollback().await.unwrap();
    let came = endpoint.count(1).await;
    assert_eq!(came[0].id, format!("{job}-1"));
    assert_eq!(all_are(&member, &hook, "delivered").await.len(), 1);
    for replica in [service, other] {
        replica.stop().await;
    }
    assert_eq!(endpoint.received().len(), 1);
    conn.close().await.unwrap();
}

#[tokio::test]
async fn two_replicas_send_each_event_once() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let other = fixture.start().await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let mut expected = Vec::new();
    for _ in 0..20 {
        expected.push(format!("{}-1", submit(&member, json!({})).await.str("id")));
    }
    let _ = endpoint.count(expected.len()).await;
    let _ = all_are(&member, &hook, "delivered").await;
    for replica in [service, other] {
        replica.stop().await;
    }
    let mut ids: Vec<_> = endpoint.received().into_iter().map(|message| message.id).collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
}

/// The feed is read from its beginning.
#[tokio::test]
async fn after_a_restore_nothing_is_lost_and_nothing_is_repeated() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let old = submit(&member, json!({})).await.str("id").to_owned();
    let _ = all_are(&member, &hook, "delivered").await;
    // its delivery was deleted after a week
    execute(&fixture, "delete from jobs.webhook_deliveries").await;
    execute(&fixture, "update jobs.job_events set at = at - interval '8 days'").await;
    execute(&fixture, "update jobs.webhooks set created_at = created_at - interval '9 days'").await;
    let recent = submit(&member, json!({})).await.str("id").to_owned();
    let _ = all_are(&member, &hook, "delivered").await;
    service.stop().await;

    execute(&fixture, "insert into jobs.restores values (1700000000)").await;
    let service = fixture.start().await;
    let member = fixture.member(&service, tenant);
    let new = submit(&member, json!({})).await.str("id").to_owned();
    let came = endpoint.count(3).await;
    let _ = all_are(&member, &hook, "delivered").await;
    service.stop().await;
    let ids: Vec<_> = came.into_iter().map(|message| message.id).collect();
    assert_eq!(ids, [old, recent, new].map(|job| format!("{job}-1")));
    assert_eq!(endpoint.received().len(), 3);
}

#[tokio::test]
async fn an_endpoint_that_fails_for_three_days_is_disabled() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[500; 8]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let _ = submit(&member, json!({})).await;
    for count in 1..8 {
        let _ = attempted(&member, &hook, count).await;
        make_due(&fixture).await;
    }
    let failed = all_are(&member, &hook, "failed").await;
    assert_eq!(failed[0]["attempts"].as_array().unwrap().len(), 8);
    let read = member.get(&hook).await.expect(200);
    assert_eq!(
        (&read.body["enabled"], &read.body["problem"]),
        (&json!(true), &Value::Null),
        "not for one day"
    );
    assert!(read.body["failing_since"].is_string());

    execute(&fixture, "update jobs.webhooks set failing_since = now() - interval '73 hours'").await;
    endpoint.answer(&[500; 4]);
    let _ = submit(&member, json!({})).await;
    let _ = attempted(&member, &hook, 1).await;
    let seven = "update jobs.webhook_deliveries
         set attempts = (select jsonb_agg(one) from jsonb_array_elements(attempts) one, generate_series(1, 7))
         where state = 'pending'";
    execute(&fixture, seven).await;
    let _ = submit(&member, json!({})).await;
    let _ = attempted(&member, &hook, 1).await;
    assert_eq!(member.get(&hook).await.expect(200).body["enabled"], true, "attempts are left");
    make_due(&fixture).await;
    eventually("the webhook is disabled", async || {
        let read = member.get(&hook).await.expect(200);
        (read.body["enabled"] == false).then(|| assert_eq!(read.body["problem"], "failing"))
    })
    .await;
    eventually("what waits is cancelled", async || {
        make_due(&fixture).await;
        let states: Vec<_> =
            deliveries(&member, &hook).await.iter().map(|one| one["state"].clone()).collect();
        (states == ["cancelled", "failed", "failed"]).then_some(())
    })
    .await;

    let enabled = member.patch(&hook, "*", json!({ "enabled": true })).await.expect(200);
    assert_eq!((&enabled.body["problem"], &enabled.body["failing_since"]), (&Value::Null, &Value::Null));
    let job = submit(&member, json!({})).await.str("id").to_owned();
    eventually("the next event comes", async || {
        endpoint.received().iter().any(|message| message.id == format!("{job}-1")).then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn progress_of_jobs_that_report_it_is_sent_by_tenths() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[500]).await;
    let (hook, secret) = create(&member, &url, json!(["job.progress"])).await;
    let pools = fixture.admin(&service).get("/v1/platform-pools").await.expect(200);
    let pool = pools.body["items"][0]["id"].as_str().unwrap().to_owned();
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    for report_progress in [false, true] {
        let _ = submit(&member, json!({ "report_progress": report_progress })).await;
        let work = worker.work().await;
        for step in [1, 7, 7, 8] {
            let _ = worker.progress(&work, step).await.expect(200);
        }
        if !report_progress {
            let _ = worker.complete(&work).await.expect(200);
            continue;
        }
        let _ = attempted(&member, &hook, 1).await;
        make_due(&fixture).await;
        let delivered = all_are(&member, &hook, "delivered").await;
        assert_eq!(delivered.len(), 2, "{delivered:?}");
        let mut steps = Vec::new();
        for message in endpoint.received() {
            assert!(message.is_signed_with(&secret));
            let body = message.message();
            let data = &body["data"];
            assert_eq!((&body["type"], &data["id"]), (&json!("job.progress"), &json!(message.id)));
            assert_eq!(data["job_id"], json!(work.job));
            assert_eq!((&data["progress"]["attempt"], &data["progress"]["steps"]), (&json!(1), &json!(20)));
            steps.push(data["progress"]["step"].as_u64().unwrap());
        }
        steps.sort_unstable();
        // one of them was refused once
        assert!([[7, 7, 8], [7, 8, 8]].iter().any(|expected| steps == expected), "{steps:?}");
    }
    service.stop().await;
}
