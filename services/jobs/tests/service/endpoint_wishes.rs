//! Endpoints that ask for a later retry, or for no further messages.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::eventually;

use crate::{
    endpoint::{Endpoint, all_are, attempted, create, deliveries, execute, make_due, start},
    fixture::{Fixture, submit},
};

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_endpoint_is_waited_for_as_long_as_it_asks() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    let at = |seconds| fixture.in_seconds(seconds);
    let date = |format: &str, seconds| at(seconds).strftime(format).to_string();
    let cases = [
        (429, Some("3600".to_owned()), Some(3_600), 3_600),
        (503, Some("120".to_owned()), Some(120), 120),
        (500, Some("600".to_owned()), Some(600), 600),
        (503, Some(date("%a, %d %b %Y %H:%M:%S GMT", 7_200)), Some(7_200), 7_200),
        (429, Some(date("%A, %d-%b-%y %H:%M:%S GMT", 7_200)), Some(7_200), 7_200),
        // not earlier than without the header, and within a day
        (429, Some("1".to_owned()), Some(1), 5),
        (429, Some("0".to_owned()), Some(0), 5),
        (503, Some(date("%a, %d %b %Y %H:%M:%S GMT", -7_200)), Some(0), 5),
        (503, Some("864000".to_owned()), Some(86_400), 86_400),
        (503, Some("99999999999999999999999".to_owned()), Some(86_400), 86_400),
        // not a time
        (429, Some("soon".to_owned()), None, 5),
        (429, Some("-5".to_owned()), None, 5),
        (429, None, None, 5),
        (408, None, None, 5),
        (425, None, None, 5),
        (502, None, None, 5),
        (301, None, None, 5),
    ];
    for (status, retry_after, asked, seconds) in cases {
        match &retry_after {
            Some(retry_after) => endpoint.answer_later(status, retry_after),
            None => endpoint.answer(&[status]),
        }
        let (hook, _) = create(&member, &url, json!([])).await;
        let _ = submit(&member, json!({})).await;
        let refused = eventually(&format!("{status} {retry_after:?} is recorded"), async || {
            let newest = deliveries(&member, &hook).await.into_iter().next()?;
            newest["attempts"][0].is_object().then_some(newest)
        })
        .await;
        let attempt = &refused["attempts"][0];
        assert_eq!((&attempt["status"], &attempt["error"]), (&json!(status), &json!("refused")));
        let named = attempt["retry_after_seconds"].as_i64();
        // a time that has just passed
        assert!(
            named == asked
                || named.zip(asked).is_some_and(|(named, asked)| (asked - 60..asked).contains(&named)),
            "{status} {retry_after:?}: {attempt}"
        );
        let wait = time(&refused["next_attempt_at"]).duration_since(time(&attempt["at"]));
        let least = SignedDuration::from_secs((seconds - 60).max(5));
        let most = SignedDuration::from_secs(seconds + seconds / 100 + 30);
        assert!(wait >= least && wait <= most, "{status} {retry_after:?}: {wait:?}");
        end_holds(&fixture).await;
        let _ = all_are(&member, &hook, "delivered").await;
        let _ = member.delete(&hook).await.expect(204);
    }
    service.stop().await;
}

/// Makes the pauses of endpoints, and of the messages for them, expire.
async fn end_holds(fixture: &Fixture) {
    execute(fixture, "update jobs.webhooks set held_until = now() where held_until is not null").await;
    make_due(fixture).await;
}

#[tokio::test]
async fn all_messages_of_an_endpoint_wait_as_long_as_it_asks() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let ((busy, busy_url), (other, other_url)) = (Endpoint::start(&[]).await, Endpoint::start(&[]).await);
    let (hook, _) = create(&member, &busy_url, json!([])).await;
    let (beside, _) = create(&member, &other_url, json!([])).await;
    // two messages wait, one of them for its second attempt
    busy.answer(&[500]);
    let _ = submit(&member, json!({})).await;
    let _ = attempted(&member, &hook, 1).await;
    execute(
        &fixture,
        "update jobs.webhook_deliveries set wake_at = now() + interval '1 minute' where wake_at is not null",
    )
    .await;
    busy.answer_later(429, "3600");
    let _ = submit(&member, json!({})).await;
    let _ = busy.count(2).await;
    let refused = attempted(&member, &hook, 1).await;
    assert_eq!((&refused["attempts"][0]["status"], busy.received().len()), (&json!(429), 2));
    make_due(&fixture).await;
    // a third message is sent to the other endpoint
    let _ = submit(&member, json!({})).await;
    let _ = other.count(3).await;
    let waiting = eventually("all wait until the endpoint wants some", async || {
        let all = deliveries(&member, &hook).await;
        let least = fixture.in_seconds(3_000);
        let wait = |one: &Value| one["next_attempt_at"].is_string() && time(&one["next_attempt_at"]) >= least;
        (all.len() == 3 && all.iter().all(wait)).then_some(all)
    })
    .await;
    let attempts: Vec<_> = waiting.iter().map(|one| one["attempts"].as_array().unwrap().len()).collect();
    assert_eq!((attempts, busy.received().len()), (vec![0, 1, 1], 2), "those that wait have lost no attempt");
    // a test message is sent immediately, and does not end the pause
    let _ = member.post(&format!("{hook}/test"), Value::Null).await.expect(202);
    let _ = busy.count(3).await;
    assert_eq!(busy.received()[2].message()["type"], "webhook.test");
    let _ = all_are(&member, &beside, "delivered").await;
    assert_eq!(busy.received().len(), 3);
    end_holds(&fixture).await;
    let _ = all_are(&member, &hook, "delivered").await;
    assert_eq!(busy.received().len(), 6);

    // the pause does not apply to another endpoint
    busy.answer_later(503, "7200");
    let _ = submit(&member, json!({})).await;
    let _ = busy.count(7).await;
    let _ = attempted(&member, &hook, 1).await;
    let _ = submit(&member, json!({})).await;
    let _ = other.count(5).await;
    let _ = member.patch(&hook, "*", json!({ "url": format!("{busy_url}/new") })).await.expect(200);
    let _ = all_are(&member, &hook, "delivered").await;

    // an endpoint that asks for a later retry repeatedly, and accepts nothing for three days
    execute(&fixture, "update jobs.webhooks set failing_since = now() - interval '73 hours'").await;
    busy.answer_later(429, "86400");
    let _ = submit(&member, json!({})).await;
    eventually("the webhook is disabled", async || {
        let read = member.get(&hook).await.expect(200);
        (read.body["problem"] == "failing").then_some(())
    })
    .await;
    assert_eq!(deliveries(&member, &hook).await[0]["state"], "failed");
    service.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_is_gone_gets_nothing_more() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[500]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let _ = submit(&member, json!({})).await;
    let _ = attempted(&member, &hook, 1).await;
    endpoint.answer_later(410, "60");
    let _ = submit(&member, json!({})).await;
    let disabled = eventually("the webhook is disabled", async || {
        let read = member.get(&hook).await.expect(200);
        (read.body["enabled"] == false).then_some(read)
    })
    .await;
    assert_eq!(disabled.body["problem"], "gone");
    let failed = deliveries(&member, &hook).await[0].clone();
    assert_eq!((&failed["state"], &failed["next_attempt_at"]), (&json!("failed"), &Value::Null));
    assert_eq!(failed["attempts"][0]["status"], 410);
    make_due(&fixture).await;
    eventually("what waits is cancelled", async || {
        let states: Vec<_> =
            deliveries(&member, &hook).await.iter().map(|one| one["state"].clone()).collect();
        (states == ["failed", "cancelled"]).then_some(())
    })
    .await;
    assert_eq!(endpoint.received().len(), 2);
    // a test message is sent nevertheless
    let tested = member.post(&format!("{hook}/test"), Value::Null).await.expect(202).str("id").to_owned();
    eventually("the test is delivered", async || {
        let all = deliveries(&member, &hook).await;
        all.iter().any(|one| one["id"] == json!(tested) && one["state"] == "delivered").then_some(())
    })
    .await;

    let enabled = member.patch(&hook, "*", json!({ "enabled": true })).await.expect(200);
    assert_eq!(enabled.body["problem"], Value::Null);
    let job = submit(&member, json!({})).await.str("id").to_owned();
    eventually("the next event comes", async || {
        endpoint.received().iter().any(|message| message.id == format!("{job}-1")).then_some(())
    })
    .await;

    // an answer of the webhook's former endpoint has no effect
    let mut conn = fixture.db.admin().await;
    let mut tx = conn.begin().await.unwrap();
    let lock = "select id from jobs.webhooks for no key update";
    let _ = sqlx::query(lock).execute(&mut *tx).await.unwrap();
    endpoint.answer(&[410]);
    let before = endpoint.received().len();
    let _ = submit(&member, json!({})).await;
    let _ = endpoint.count(before + 1).await;
    fixture.db.wait_for_blocked_query().await;
    sqlx::query("update jobs.webhooks set url = url || '/new'").execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    eventually("the answer is recorded", async || {
        let newest = deliveries(&member, &hook).await[0].clone();
        (newest["attempts"][0]["status"] == 410).then_some(())
    })
    .await;
    let read = member.get(&hook).await.expect(200);
    assert_eq!((&read.body["enabled"], &read.body["problem"]), (&json!(true), &Value::Null));
    make_due(&fixture).await;
    eventually("the message is sent to the new one", async || {
        (deliveries(&member, &hook).await[0]["state"] == "delivered").then_some(())
    })
    .await;
    conn.close().await.unwrap();
    service.stop().await;
}
