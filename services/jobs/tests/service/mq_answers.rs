//! Whatever the broker confirms is answered, and whatever HTTP takes is taken.

use lapin::{
    Channel, ExchangeKind,
    options::{
        BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, ExchangeBindOptions,
        ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions, QueueDeclareOptions,
        QueueDeleteOptions, QueuePurgeOptions,
    },
    types::{AMQPValue, FieldArray, FieldTable, LongString},
};
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::{
    fixture::pool,
    mq_tenant::{Line, Post, Studio, Tenant, fox, named},
};

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(text))
}

/// Expects that the next event refuses this message.
async fn expect_refusal(line: &mut Line, number: Uuid, code: &str) {
    let event = line.event().await;
    assert_eq!(
        (named(&event), event["problem"]["code"].as_str()),
        (("rejected", number), Some(code)),
        "{event}"
    );
}

/// Replays the tenant's newest refused message.
async fn replay(tenant: &Tenant) -> Value {
    let dead = tenant.member.get("/v1/mq-dead").await.expect(200).body["items"][0].clone();
    let path = format!("/v1/mq-dead/{}/replay", dead["id"].as_str().unwrap());
    tenant.member.post(&path, Value::Null).await.expect(200).body["outcome"].clone()
}

#[tokio::test]
async fn mq_what_no_queue_takes_is_answered() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let long: &'static str = "k".repeat(255).leak();
    for key in ["normal", "Urgent", "", "ordinary ", "urgent.1", "#", "jobs.submit.urgent", long] {
        let number = Uuid::new_v4();
        let mut post = fox(number, "a fox");
        post.key = key;
        line.send(&post).await;
        expect_refusal(&mut line, number, "unknown-routing-key").await;
    }
    assert_eq!(tenant.jobs().await, [""; 0]);
    assert_eq!(replay(&tenant).await, "accepted");
    assert_eq!(line.event().await["event"], "accepted");

    // a copy that is routed is taken
    let number = Uuid::new_v4();
    let mut copied = fox(number, "a fox");
    copied.key = "elsewhere";
    copied.table.insert("CC".into(), AMQPValue::FieldArray(FieldArray::from(vec![text("ordinary")])));
    line.send(&copied).await;
    assert_eq!(named(&line.event().await), ("accepted", number));

    // what a transaction commits
    let channel = line.connection.create_channel().await.unwrap();
    channel.tx_select().await.unwrap();
    let numbers = [Uuid::new_v4(), Uuid::new_v4()];
    for (number, key) in numbers.into_iter().zip(["ordinary", "elsewhere"]) {
        let post = fox(number, "a fox");
        let (options, properties) = (BasicPublishOptions::default(), line.properties(&post));
        let publish =
            channel.basic_publish("atelier.jobs".into(), key.into(), options, &post.body, properties);
        drop(publish.await.unwrap());
    }
    channel.tx_commit().await.unwrap();
    let events = [line.event().await, line.event().await];
    for expected in [("accepted", numbers[0]), ("rejected", numbers[1])] {
        assert!(events.iter().any(|event| named(event) == expected), "{events:?}");
    }

    // what asks for more than the broker can do is not confirmed
    let other = tenant.open().await;
    let (post, options) = (
        fox(Uuid::new_v4(), "a fox"),
        BasicPublishOptions { immediate: true, ..BasicPublishOptions::default() },
    );
    let properties = other.properties(&post);
    let publish = other.channel.basic_publish(
        "atelier.jobs".into(),
        "ordinary".into(),
        options,
        &post.body,
        properties,
    );
    assert!(async { publish.await?.await }.await.is_err());
    service.stop().await;
}

#[tokio::test]
async fn mq_messages_that_expire_while_nobody_takes_them_are_answered() {
    let mut studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let taken = Uuid::new_v4();
    let mut post = fox(taken, "a fox");
    post.expiration = Some("60000");
    line.send(&post).await;
    assert_eq!(named(&line.event().await), ("accepted", taken));
    service.stop().await;
    let expiring = [("urgent", "1"), ("ordinary", "1"), ("elsewhere", "1"), ("ordinary", "0")];
    let expiring = expiring.map(|(key, expiration)| (Uuid::new_v4(), key, expiration));
    for (number, key, expiration) in expiring {
        let mut post = fox(number, "a fox");
        (post.key, post.expiration) = (key, Some(expiration));
        line.send(&post).await;
    }
    eventually("the broker has put them aside", async || {
        (studio.waiting("jobs.dead").await == 4).then_some(())
    })
    .await;
    // nor does a restart of the broker lose what is not marked as persistent
    let transient = Uuid::new_v4();
    let mut post = fox(transient, "a fox");
    post.delivery_mode = 1;
    line.send(&post).await;
    studio.broker.stop().await;
    studio.broker.restart().await.unwrap();
    let service = studio.fixture.start().await;
    let mut line = tenant.open().await;
    let mut events = Vec::new();
    while events.len() < 5 {
        let event = line.event().await;
        // whose acknowledgement the restart has lost
        if event["reqNo"] != json!(taken) {
            events.push(event);
        }
    }
    assert!(events.iter().any(|event| named(event) == ("accepted", transient)), "{events:?}");
    for (number, ..) in expiring {
        let event = events.iter().find(|event| event["reqNo"] == json!(number)).unwrap();
        assert_eq!(
            (&event["event"], &event["problem"]["code"]),
            (&json!("rejected"), &json!("message-expired"))
        );
    }
    let member = service.client.token(&studio.fixture.issuer.user(tenant.id, auth::Role::Member));
    let tenant = Tenant { member, ..tenant };
    assert_eq!(replay(&tenant).await, "accepted");
    service.stop().await;
}

/// Something that a tenant may not do.
type Attempt = (&'static str, fn(Channel, Names) -> futures::future::BoxFuture<'static, lapin::Result<()>>);

#[derive(Clone)]
struct Names {
    own: String,
    other: String,
}

#[tokio::test]
async fn mq_a_tenant_can_do_nothing_but_publish_and_read() {
    macro_rules! attempt {
        ($name:literal, |$channel:ident, $names:ident| $call:expr) => {
            ($name, |$channel, $names| {
                Box::pin(async move {
                    let _ = &$names;
                    $call.await.map(drop)
                })
            })
        };
    }
    let none = FieldTable::default;
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let (tenant, other) = (studio.tenant(&service).await, studio.tenant(&service).await);
    let names = Names { own: tenant.queue.clone(), other: other.queue.clone() };
    let mut attempts: Vec<Attempt> = vec![
        attempt!("read another's", |c, n| c.basic_get(n.other.as_str().into(), BasicGetOptions::default())),
        attempt!("purge another's", |c, n| c
            .queue_purge(n.other.as_str().into(), QueuePurgeOptions::default())),
        attempt!("delete its own", |c, n| c
            .queue_delete(n.own.as_str().into(), QueueDeleteOptions::default())),
        attempt!("declare a queue", |c, n| {
            c.queue_declare("mine".into(), QueueDeclareOptions::default(), FieldTable::default())
        }),
        attempt!("bind its own", |c, n| {
            let (queue, exchange) = (n.own.as_str().into(), "atelier.events".into());
            c.queue_bind(queue, exchange, "#".into(), QueueBindOptions::default(), FieldTable::default())
        }),
        attempt!("unbind its own", |c, n| {
            let (queue, exchange) = (n.own.as_str().into(), "atelier.events".into());
            c.queue_unbind(queue, exchange, "#".into(), FieldTable::default())
        }),
        attempt!("declare an exchange", |c, n| {
            let options = ExchangeDeclareOptions::default();
            c.exchange_declare("mine".into(), ExchangeKind::Fanout, options, FieldTable::default())
        }),
        attempt!("delete the exchange", |c, n| {
            c.exchange_delete("atelier.jobs".into(), ExchangeDeleteOptions::default())
        }),
        attempt!("bind exchanges", |c, n| {
            let (destination, source) = ("amq.fanout".into(), "atelier.jobs".into());
            let options = ExchangeBindOptions::default();
            c.exchange_bind(destination, source, "urgent".into(), options, FieldTable::default())
        }),
    ];
    for queue in ["jobs.submit.ordinary", "jobs.submit.urgent", "jobs.unrouted", "jobs.dead"] {
        let line = tenant.open().await;
        let options = BasicConsumeOptions::default();
        let refused =
            line.channel.basic_consume(queue.into(), "".into(), options, none()).await.err().unwrap();
        assert!(refused.to_string().contains("ACCESS"), "{queue}: {refused}");
        let line = tenant.open().await;
        let refused =
            line.channel.queue_purge(queue.into(), QueuePurgeOptions::default()).await.err().unwrap();
        assert!(refused.to_string().contains("ACCESS"), "{queue}: {refused}");
    }
    let exchanges =
        ["atelier.events", "", "atelier.unrouted", "atelier.dead", "amq.direct", "amq.fanout", "amq.topic"];
    for exchange in exchanges {
        let line = tenant.open().await;
        let (key, options) = (other.queue.as_str().into(), BasicPublishOptions::default());
        let publish = line.channel.basic_publish(exchange.into(), key, options, b"{}", Default::default());
        let refused = async { publish.await?.await }.await.unwrap_err();
        assert!(refused.to_string().contains("ACCESS"), "{exchange}: {refused}");
    }
    for (name, attempt) in attempts.drain(..) {
        let line = tenant.open().await;
        let refused = attempt(line.channel.clone(), names.clone()).await.expect_err(name);
        assert!(refused.to_string().contains("ACCESS"), "{name}: {refused}");
    }
    service.stop().await;
}

#[tokio::test]
async fn mq_what_http_takes_the_queue_takes() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let with_type = |content_type: &'static str| {
        let mut post = fox(Uuid::new_v4(), "a fox");
        post.content_type = content_type;
        post
    };
    let with = |name: &str, value: AMQPValue| {
        let mut post = fox(Uuid::new_v4(), "a fox");
        post.table.insert(name.into(), value);
        post
    };
    let taken: Vec<Post> = vec![
        with_type("application/json; charset=utf-8"),
        with_type("application/json;charset=UTF-8"),
        with_type("Application/JSON"),
        with_type("application/json;"),
        with_type(""),
        with("priority", AMQPValue::Void),
        with("group", AMQPValue::Void),
        with("x-deadline", AMQPValue::Void),
        with("x-max-cost", AMQPValue::Void),
        with("x-progress", AMQPValue::Void),
        with("x-group-mode", AMQPValue::Void),
        with("priority", text("8")),
        with("priority", AMQPValue::ShortShortInt(8)),
        with("priority", AMQPValue::ShortShortUInt(8)),
        with("priority", AMQPValue::ShortInt(8)),
        with("priority", AMQPValue::LongInt(8)),
        with("priority", AMQPValue::LongUInt(8)),
        with("priority", AMQPValue::ByteArray(b"8".to_vec().into())),
        with(
            "x-deadline",
            AMQPValue::Timestamp(studio.fixture.in_seconds(3_600).as_second().cast_unsigned()),
        ),
        with("traceparent", AMQPValue::FieldTable(FieldTable::default())),
    ];
    for post in &taken {
        line.send(post).await;
        let event = line.event().await;
        assert_eq!(event["event"], "accepted", "{event} {} {:?}", post.content_type, post.table);
    }
    let refused = [
        with_type("text/plain"),
        with("priority", AMQPValue::FieldArray(FieldArray::from(vec![text("8")]))),
        with("priority", AMQPValue::Boolean(true)),
        with("x-deadline", AMQPValue::FieldTable(FieldTable::default())),
    ];
    for post in &refused {
        line.send(post).await;
        assert_eq!(
            line.event().await["problem"]["code"],
            "malformed",
            "{} {:?}",
            post.content_type,
            post.table
        );
    }
    service.stop().await;
}
