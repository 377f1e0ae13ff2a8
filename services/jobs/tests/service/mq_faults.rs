//! The message broker, Postgres or the service die.

use std::time::Duration;

use lapin::options::BasicGetOptions;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use testkit::{eventually, within};
use tokio::time::timeout;
use uuid::Uuid;

use crate::{
    fixture::pool,
    mq_tenant::{Studio, connect, fox, named},
};

#[tokio::test]
async fn mq_a_killed_broker_loses_nothing_that_it_has_confirmed() {
    const JOBS: usize = 50;
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    // RabbitMQ 3.10 loses a quorum queue that was declared just before a crash: not these
    studio.broker.stop().await;
    studio.broker.restart().await.unwrap();
    // nobody takes the messages when the broker dies
    service.stop().await;
    let line = tenant.open().await;
    let numbers: Vec<Uuid> = (0..JOBS).map(|_| Uuid::new_v4()).collect();
    for number in &numbers {
        line.send(&fox(*number, "a fox")).await;
    }
    studio.broker.kill().await;
    studio.broker.restart().await.unwrap();
    let service = studio.fixture.start().await;
    let mut line = tenant.open().await;
    for number in &numbers {
        assert_eq!(named(&line.event().await), ("accepted", *number));
    }

    // and while the service runs
    studio.broker.kill().await;
    let member = service.client.token(&studio.fixture.issuer.user(tenant.id, auth::Role::Member));
    let over_http = member.post("/v1/jobs", crate::fixture::fox()).await.expect(202).str("id").to_owned();
    studio.broker.restart().await.unwrap();
    let mut line = tenant.open().await;
    let after = Uuid::new_v4();
    line.send(&fox(after, "a fox")).await;
    let first = loop {
        // those that the service had not seen confirmed come again
        let event = line.event().await;
        if !numbers.iter().any(|number| event["reqNo"] == json!(number)) {
            break event;
        }
    };
    let second = line.event().await;
    let mut seen = [&first, &second].map(|event| event["jobId"].as_str().unwrap().to_owned());
    seen.sort();
    assert_eq!(seen[0], over_http, "{first} {second}");
    assert!([&first, &second].iter().any(|event| event["reqNo"] == json!(after)));
    assert_eq!(jobs(&member).await, JOBS + 2);
    service.stop().await;
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the report of a run says whether the broker made the mistake")]
async fn mq_a_queue_of_events_that_a_crash_broke_is_replaced() {
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    // RabbitMQ 3.10 forgets on its disk whose queue was declared just now
    studio.broker.kill().await;
    studio.broker.restart().await.unwrap();
    let line = connect(&studio.broker.url()).await.unwrap().create_channel().await.unwrap();
    let get = line.basic_get(tenant.queue.as_str().into(), BasicGetOptions::default());
    println!("the queue is broken: {}", timeout(Duration::from_secs(2), get).await.is_err());
    let job = tenant.member.post("/v1/jobs", crate::fixture::fox()).await.expect(202).str("id").to_owned();
    within(Duration::from_secs(150), "its event is in the queue", async || {
        (studio.find_queue(&tenant.queue).await? == 1).then_some(())
    })
    .await;
    let event = tenant.open().await.event().await;
    assert_eq!((event["event"].as_str(), event["jobId"].as_str()), (Some("accepted"), Some(job.as_str())));
    service.stop().await;
}

async fn jobs(member: &testkit::Client) -> usize {
    member.get("/v1/jobs?limit=200").await.expect(200).body["items"].as_array().unwrap().len()
}

/// Lets no service into the database, or again. The connection is to another one.
async fn let_in(admin: &mut PgConnection, database: &str, allowed: bool) {
    let sql = format!("alter database {database} allow_connections {allowed}");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *admin).await.unwrap();
    if !allowed {
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = $1 and usename like 'atelier%'";
        sqlx::query(end).bind(database).execute(admin).await.unwrap();
    }
}

#[tokio::test]
async fn mq_nothing_is_acknowledged_without_postgres() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    // the broker has asked what the tenant may
    line.send(&fox(Uuid::new_v4(), "a fox")).await;
    assert_eq!(line.event().await["event"], "accepted");
    let url = studio.fixture.db.url();
    let database = url.rsplit('/').next().unwrap();
    let mut admin = PgConnection::connect(&std::env::var("TEST_POSTGRES").unwrap()).await.unwrap();
    let_in(&mut admin, database, false).await;
    let numbers = [Uuid::new_v4(), Uuid::new_v4()];
    for number in numbers {
        line.send(&fox(number, "a fox")).await;
    }
    // the service has them, and keeps them
    eventually("they are delivered", async || {
        (studio.waiting("jobs.submit.ordinary").await == 0).then_some(())
    })
    .await;
    service.stop().await;
    eventually("the broker has both again", async || {
        (studio.waiting("jobs.submit.ordinary").await == 2).then_some(())
    })
    .await;
    // one that starts meanwhile does not take them before it has Postgres
    let service = studio.fixture.start().await;
    let_in(&mut admin, database, true).await;
    for number in numbers {
        assert_eq!(named(&line.event().await), ("accepted", number));
    }
    let member = service.client.token(&studio.fixture.issuer.user(tenant.id, auth::Role::Member));
    assert_eq!(jobs(&member).await, 3);
    admin.close().await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn mq_what_a_lost_broker_had_is_not_taken_and_can_be_sent_again() {
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let (taken, lost) = (Uuid::new_v4(), Uuid::new_v4());
    line.send(&fox(taken, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", taken));
    service.stop().await;
    // the broker has confirmed it, and no replica consumes
    line.send(&fox(lost, "a fox")).await;
    studio.replace_broker().await;
    let service = studio.fixture.start().await;
    let member = service.client.token(&studio.fixture.issuer.user(tenant.id, auth::Role::Member));
    let reconciled = async || {
        let asked = json!({ "req_nos": [taken, lost] });
        let items = member.post("/v1/jobs/reconciliations", asked).await.expect(200).body["items"].clone();
        [items[0]["state"].clone(), items[1]["state"].clone()]
    };
    assert_eq!(reconciled().await, [json!("queued"), json!(null)]);
    let mut line = studio.send_again(&tenant, &fox(lost, "a fox")).await;
    // the reconciliation has the event of the other sent again
    let events = [line.event().await, line.event().await];
    for number in [taken, lost] {
        assert!(events.iter().any(|event| named(event) == ("accepted", number)), "{events:?}");
    }
    assert_eq!(reconciled().await, [json!("queued"), json!("queued")]);

    // and while the service runs
    studio.replace_broker().await;
    let after = Uuid::new_v4();
    let mut line = studio.send_again(&tenant, &fox(after, "a fox")).await;
    while named(&line.event().await) != ("accepted", after) {}
    assert_eq!(jobs(&member).await, 3);
    service.stop().await;
}

#[tokio::test]
async fn mq_a_lost_acknowledgement_makes_no_second_job() {
    let mut studio = Studio::new().await;
    let proxy = studio.proxied().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let mut admin = studio.fixture.db.admin().await;
    let number = Uuid::new_v4();
    // the transaction waits, and the connection is cut before it can be acknowledged
    let mut held = admin.begin().await.unwrap();
    sqlx::query("lock table jobs.request_numbers in exclusive mode").execute(&mut *held).await.unwrap();
    line.send(&fox(number, "a fox")).await;
    studio.fixture.db.wait_for_blocked_query().await;
    proxy.cut();
    held.commit().await.unwrap();
    assert_eq!(named(&line.event().await), ("accepted", number));
    let (again, is_new) = line.any_event().await;
    assert_eq!(
        (named(&again), is_new, again["duplicate"].as_bool()),
        (("accepted", number), false, Some(true))
    );
    assert_eq!(tenant.jobs().await, ["queued"]);
    admin.close().await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn mq_a_message_that_is_delivered_again_and_again_is_put_aside() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    service.stop().await;
    let mut line = tenant.open().await;
    let (poison, next) = (Uuid::new_v4(), Uuid::new_v4());
    line.send(&fox(poison, "a fox")).await;
    let mut deliveries = 0;
    while studio.waiting("jobs.dead").await == 0 {
        // as a process that crashes with the message
        let connection = connect(&studio.broker.url()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let got = channel.basic_get("jobs.submit.ordinary".into(), BasicGetOptions::default()).await.unwrap();
        deliveries += u32::from(got.is_some());
        connection.close(200, "".into()).await.unwrap();
    }
    assert!((5..=6).contains(&deliveries), "{deliveries}");
    let service = studio.fixture.start().await;
    let failed = line.event().await;
    assert_eq!(
        (named(&failed), failed["problem"]["code"].as_str()),
        (("rejected", poison), Some("delivery-failed"))
    );
    line.send(&fox(next, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", next));
    assert_eq!(tenant.jobs().await, ["queued"]);
    // once the service can take it
    let dead = tenant.member.get("/v1/mq-dead").await.expect(200).body["items"][0].clone();
    let replay = format!("/v1/mq-dead/{}/replay", dead["id"].as_str().unwrap());
    assert_eq!(tenant.member.post(&replay, json!(null)).await.expect(200).str("outcome"), "accepted");
    assert_eq!(named(&line.event().await), ("accepted", poison));
    service.stop().await;
}

#[tokio::test]
async fn mq_a_replica_that_stops_lets_another_publish_at_once() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let (before, after) = (Uuid::new_v4(), Uuid::new_v4());
    line.send(&fox(before, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", before));
    let mut conn = studio.fixture.db.admin().await;
    let mut is_led = async || {
        let sql =
            "select exists(select from jobs.leases where name = 'publishing' and until > clock_timestamp())";
        sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut conn).await.unwrap()
    };
    assert!(is_led().await);
    service.stop().await;
    assert!(!is_led().await);
    let service = studio.fixture.start().await;
    line.send(&fox(after, "a fox")).await;
    // what the first replica had published comes again if it had not noted that
    while named(&line.event().await) != ("accepted", after) {}
    service.stop().await;
}
