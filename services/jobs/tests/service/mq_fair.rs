//! Whatever a tenant sends, the messages of others are taken in and answered.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::join_all;
use lapin::{Confirmation, options::BasicPublishOptions};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use testkit::{eventually, within};
use tokio::{net::TcpListener, sync::Semaphore};
use uuid::Uuid;

use crate::{
    fixture::pool,
    fleet::put,
    mq_tenant::{Line, Post, Studio, Tenant, connect, fox, named},
    uploads::create,
};

/// Messages whose confirmation is waited for at a time.
const UNCONFIRMED: usize = 200;

/// Publishes messages, many at a time.
async fn flood(line: &Line, posts: &[Post]) {
    for posts in posts.chunks(UNCONFIRMED) {
        let confirmations = join_all(posts.iter().map(|post| line.publish(post))).await;
        for confirmation in confirmations {
            assert_eq!(confirmation.unwrap(), Confirmation::Ack(None));
        }
    }
}

fn malformed() -> Post {
    let mut post = fox(Uuid::new_v4(), "a fox");
    post.body = b"{".to_vec();
    post
}

/// A message of another tenant is taken, and answered.
async fn is_taken(tenant: &Tenant) {
    let mut line = tenant.open().await;
    for key in ["ordinary", "urgent"] {
        let number = Uuid::new_v4();
        let mut post = fox(number, "a fox");
        post.key = key;
        line.send(&post).await;
        assert_eq!(named(&line.event().await), ("accepted", number));
    }
}

/// What is submitted with this number of the tenant waits while the returned transaction is open.
async fn hold<'c>(
    conn: &'c mut PgConnection,
    tenant: &Tenant,
    number: Uuid,
) -> sqlx::Transaction<'c, sqlx::Postgres> {
    let mut tx = conn.begin().await.unwrap();
    let insert =
        "insert into jobs.request_numbers (tenant_id, req_no, job_id, content) values ($1, $2, $2, '')";
    sqlx::query(insert).bind(tenant.id.uuid()).bind(number).execute(&mut *tx).await.unwrap();
    tx
}

#[tokio::test]
async fn mq_messages_wait_for_those_of_their_tenant_only() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut line = many.open().await;
    let mut admin = studio.fixture.db.admin().await;
    let first = Uuid::new_v4();
    let held = hold(&mut admin, &many, first).await;
    line.send(&fox(first, "a fox")).await;
    studio.fixture.db.wait_for_blocked_query().await;
    // large ones, so that there are as many as may wait
    let numbers: Vec<Uuid> = (0..130).map(|_| Uuid::new_v4()).collect();
    let large = numbers.iter().map(|number| {
        let mut post = fox(*number, "a fox");
        post.body.resize(500_000, b' ');
        post
    });
    let large: Vec<Post> = large.collect();
    for part in large.chunks(10) {
        flood(&line, part).await;
    }
    is_taken(&other).await;
    let refused = line.event().await;
    assert_eq!(
        (&refused["event"], &refused["problem"]["code"]),
        (&json!("rejected"), &json!("too-many-messages"))
    );
    held.rollback().await.unwrap();
    let mut accepted = 0;
    let mut rejected = 1;
    for _ in 0..numbers.len() {
        match line.event().await["event"].as_str() {
            Some("accepted") => accepted += 1,
            Some("rejected") => rejected += 1,
            event => panic!("{event:?}"),
        }
    }
    assert!((80..100).contains(&accepted), "{accepted} {rejected}");
    assert_eq!(accepted + rejected, numbers.len() + 1);
    // to be sent again, so not recorded
    assert_eq!(many.member.get("/v1/mq-dead").await.expect(200).body["items"], json!([]));
    let number = Uuid::new_v4();
    line.send(&fox(number, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", number));
    admin.close().await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn mq_malformed_messages_wait_for_those_of_their_tenant_only() {
    const MESSAGES: usize = 3_000;
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut line = many.open().await;
    let mut admin = studio.fixture.db.admin().await;
    let first = Uuid::new_v4();
    let held = hold(&mut admin, &many, first).await;
    line.send(&fox(first, "a fox")).await;
    studio.fixture.db.wait_for_blocked_query().await;
    let posts: Vec<Post> = (0..MESSAGES).map(|_| malformed()).collect();
    flood(&line, &posts).await;
    is_taken(&other).await;
    let mut conn = studio.fixture.db.admin().await;
    let recorded = async |conn: &mut PgConnection| {
        let count = sqlx::query_scalar("select count(*) from jobs.mq_dead where code = 'malformed'");
        let count: i64 = count.fetch_one(conn).await.unwrap();
        count
    };
    assert_eq!(recorded(&mut conn).await, 0, "the other tenant has waited for messages of the flood");
    held.rollback().await.unwrap();
    eventually("the flood is taken in", async || (recorded(&mut conn).await > 0).then_some(())).await;
    let mut answered = 0;
    while answered < MESSAGES {
        let event = line.event().await;
        answered += usize::from(event["event"] == "rejected");
    }
    service.stop().await;
}

#[tokio::test]
async fn mq_a_flood_that_names_uploads_costs_few_calls() {
    const MESSAGES: usize = 4_000;
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let [one, two] = [create(&many.member, "fox.png").await, create(&many.member, "dog.png").await]
        .map(|upload| upload.str("id").to_owned());
    service.stop().await;

    // a storage service that counts its calls, and answers the first one when it may
    let (calls, may_answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let counting = {
        let (calls, may_answer) = (Arc::clone(&calls), Arc::clone(&may_answer));
        axum::Router::new().fallback(move || {
            let (calls, may_answer) = (Arc::clone(&calls), Arc::clone(&may_answer));
            async move {
                calls.fetch_add(1, Ordering::Relaxed);
                let _ = may_answer.acquire().await.unwrap();
                axum::Json(json!({ "items": [], "next_cursor": null }))
            }
        })
    };
    studio.fixture.config.storage.url = testkit::serve(counting).await.parse().unwrap();
    let service = studio.fixture.start().await;
    let posts: Vec<Post> = (0..MESSAGES)
        .map(|n| {
            let mut post = fox(Uuid::new_v4(), "a fox");
            let parameters = json!({ "prompt": "a fox", "image": if n % 2 == 0 { &one } else { &two } });
            post.body =
                json!({ "method": "stable-diffusion.img2img", "parameters": parameters }).to_string().into();
            post
        })
        .collect();
    let mut line = many.open().await;
    flood(&line, &posts).await;
    eventually("the storage service is asked", async || (calls.load(Ordering::Relaxed) > 0).then_some(()))
        .await;
    eventually("all are received", async || {
        (studio.waiting("jobs.submit.ordinary").await == 0).then_some(())
    })
    .await;
    is_taken(&other).await;
    assert_eq!(calls.load(Ordering::Relaxed), 1, "others wait for no call");
    may_answer.add_permits(1);
    for _ in 0..MESSAGES {
        assert_eq!(line.event().await["problem"]["code"], "input-missing");
    }
    // two uploads, in steps of 512 messages
    let calls = calls.load(Ordering::Relaxed);
    assert!(calls <= 40, "{calls} calls for {MESSAGES} messages");
    service.stop().await;
}

#[tokio::test]
async fn mq_uploads_are_looked_for_beside_the_intake() {
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let pending = create(&many.member, "fox.png").await;
    let (upload, put_url) = (pending.str("id").to_owned(), pending.str("put_url").to_owned());
    let variation = || {
        let mut post = fox(Uuid::new_v4(), "a fox");
        let parameters = json!({ "prompt": "a fox", "image": upload });
        post.body =
            json!({ "method": "stable-diffusion.img2img", "parameters": parameters }).to_string().into();
        post
    };
    let mut line = many.open().await;
    line.send(&variation()).await;
    assert_eq!(line.event().await["problem"]["code"], "input-missing");
    // once the content is there
    assert_eq!(put(&put_url, "abc").await, 200);
    let dead = many.member.get("/v1/mq-dead").await.expect(200).body["items"][0].clone();
    let replay = format!("/v1/mq-dead/{}/replay", dead["id"].as_str().unwrap());
    assert_eq!(many.member.post(&replay, Value::Null).await.expect(200).str("outcome"), "accepted");
    assert_eq!(line.event().await["event"], "accepted");
    let again = create(&many.member, "dog.png").await.str("id").to_owned();
    service.stop().await;

    // a storage service that takes requests, and answers none
    let hung = TcpListener::bind("127.0.0.1:0").await.unwrap();
    studio.fixture.config.storage.url = format!("http://{}", hung.local_addr().unwrap()).parse().unwrap();
    let service = studio.fixture.start().await;
    let posts: Vec<Post> = (0..100)
        .map(|_| {
            let mut post = variation();
            post.body = String::from_utf8(post.body).unwrap().replace(&upload, &again).into_bytes();
            post
        })
        .collect();
    flood(&line, &posts).await;
    let (first, _) = hung.accept().await.unwrap();
    is_taken(&other).await;
    // nor do those of the same tenant that name none
    let number = Uuid::new_v4();
    line.send(&fox(number, "a fox")).await;
    let mut refused = 0;
    loop {
        let event = line.event().await;
        if event["event"] == "accepted" {
            assert_eq!(named(&event), ("accepted", number));
            break;
        }
        // on a busy machine the first is not waited for any more
        assert_eq!(event["problem"]["code"], "input-missing");
        refused += 1;
    }
    assert!(refused < posts.len(), "it waited for all of them");
    drop((first, hung));
    assert_eq!(line.event().await["problem"]["code"], "input-missing");
    service.stop().await;
}

#[tokio::test]
async fn mq_answers_of_one_tenant_do_not_delay_those_of_another() {
    const ANSWERS: i64 = 20_000;
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut conn = studio.fixture.db.admin().await;
    let insert = "insert into jobs.mq_outbox (tenant_id, refusal)
         select $1, '{\"req_no\": null, \"code\": \"malformed\", \"detail\": \"\"}' from generate_series(1, $2)";
    sqlx::query(insert).bind(many.id.uuid()).bind(ANSWERS).execute(&mut conn).await.unwrap();
    is_taken(&other).await;
    let left: i64 =
        sqlx::query_scalar("select count(*) from jobs.mq_outbox").fetch_one(&mut conn).await.unwrap();
    assert!(left > 0, "the others came first");
    within(std::time::Duration::from_secs(90), "all are published", async || {
        let left: i64 =
            sqlx::query_scalar("select count(*) from jobs.mq_outbox").fetch_one(&mut conn).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
    assert_eq!(i64::from(studio.waiting(&many.queue).await), ANSWERS);
    service.stop().await;
}

#[tokio::test]
async fn mq_of_a_flood_only_some_messages_are_recorded() {
    const MESSAGES: usize = 1_500;
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let posts: Vec<Post> = (0..MESSAGES).map(|_| malformed()).collect();
    let mut line = many.open().await;
    flood(&line, &posts).await;
    is_taken(&other).await;
    let mut answered = std::collections::BTreeSet::new();
    while answered.len() < MESSAGES {
        let event = line.event().await;
        assert_eq!(event["problem"]["code"], "malformed");
        answered.insert(event["reqNo"].as_str().unwrap().to_owned());
    }
    let mut conn = studio.fixture.db.admin().await;
    let recorded: i64 =
        sqlx::query_scalar("select count(*) from jobs.mq_dead").fetch_one(&mut conn).await.unwrap();
    assert!((900..=1_000).contains(&recorded), "{recorded}");
    // the newest are kept: had all been recorded, none of the first ones would be left
    let first: Vec<Uuid> =
        posts[..400].iter().map(|post| post.headers["reqNo"].as_str().unwrap().parse().unwrap()).collect();
    let of_first = "select count(*) from jobs.mq_dead where req_no = any($1)";
    let of_first: i64 = sqlx::query_scalar(of_first).bind(&first).fetch_one(&mut conn).await.unwrap();
    assert!(of_first > 0, "each message of the flood was recorded");
    service.stop().await;
}

/// What is said about it was larger than what the broker takes.
#[tokio::test]
async fn mq_a_refusal_repeats_only_the_beginning_of_what_it_refuses() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut line = tenant.open().await;
    let mut post = fox(Uuid::new_v4(), "a fox");
    post.body = json!({ "method": "\u{1}".repeat(80_000), "parameters": {} }).to_string().into_bytes();
    line.send(&post).await;
    let mut unknown = fox(Uuid::new_v4(), "a fox");
    unknown.body = format!(r#"{{"{}": 1}}"#, "\\u0001".repeat(80_000)).into_bytes();
    line.send(&unknown).await;
    for code in ["unknown-method", "malformed"] {
        let event = line.event().await;
        assert_eq!(event["problem"]["code"], code);
        assert!(event["problem"]["message"].as_str().unwrap().chars().count() <= 1_001);
    }
    is_taken(&other).await;
    service.stop().await;
}

#[tokio::test]
async fn mq_a_tenant_that_opens_many_connections_is_refused_more() {
    let mut studio = Studio::new().await;
    // a broker that limits nothing itself
    studio.fixture.config.mq.as_mut().unwrap().management_url = None;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (many, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let mut open = Vec::new();
    let refused = loop {
        assert!(open.len() < 250, "none is refused");
        match connect(&many.url).await {
            Ok(connection) => open.push(connection),
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("ACCESS"), "{refused}");
    assert!(open.len() >= 100, "{}", open.len());
    is_taken(&other).await;
    // a wrong password uses nothing up
    for _ in 0..110 {
        assert!(connect(&studio.broker.url_of(&other.user, "amq_0")).await.is_err());
    }
    is_taken(&other).await;
    join_all(open.into_iter().map(|connection| async move { connection.close(200, "done".into()).await }))
        .await;
    eventually("another is allowed", async || connect(&many.url).await.ok()).await;
    // channels of a connection
    let line = other.open().await;
    let mut channels = Vec::new();
    while let Ok(channel) = line.connection.create_channel().await {
        channels.push(channel);
        assert!(channels.len() < 200, "there is no limit");
    }
    let properties = line.properties(&fox(Uuid::new_v4(), "a fox"));
    let publish = line.channel.basic_publish(
        "atelier.jobs".into(),
        "ordinary".into(),
        BasicPublishOptions::default(),
        b"{}",
        properties,
    );
    assert!(async { publish.await?.await }.await.is_ok());
    service.stop().await;
}
