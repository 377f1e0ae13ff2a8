//! How many jobs per second each interface accepts: REST with one job per request, of many tenants and of
//! one, REST in batches, and messages. For comparison, on the same machine in the same run: RabbitMQ alone (a
//! quorum queue, publisher confirms, a consumer that acknowledges), Postgres alone (one small row for each
//! commit), and two queues on Postgres, graphile-worker and pg-boss, if their packages are in `BENCH_PEERS`.
//! These are libraries: their jobs have no tenant, quota, price, idempotency, event or audit entry, and no
//! HTTP.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt as _, future::join_all, stream};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable, LongString},
};
use rabbitmq::{Broker, Options};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Connection as _;
use uuid::Uuid;

use crate::service::{Site, job};

/// Messages of a publisher that may be unconfirmed at a time.
const UNCONFIRMED: usize = 500;
/// Jobs in a batch.
const BATCH: usize = 500;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds for each request rate
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Clients at a time
    #[arg(long, default_value_t = 64)]
    clients: usize,
    /// Messages
    #[arg(long, default_value_t = 40_000)]
    messages: usize,
}

pub(crate) async fn run(args: Args) {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let auth = site.broker_listener().await;
    let options = Options { folder: folder.path().to_owned(), port: None, auth: Some(auth) };
    let broker = Broker::start(&options).await.unwrap();
    let site = site.with_broker(broker.url()).await;
    site.pool(0).await;

    let postgres = commits(&site, &args).await;
    let peers = peers(&args).await;
    let rest = requests(&site, &args, 1, Senders::Tenants).await;
    let one_tenant = requests(&site, &args, 1, Senders::Members).await;
    let batch = requests(&site, &args, BATCH, Senders::Tenants).await;
    let alone = rabbit(&broker, &args).await;
    let messages = measure_messages(&site, &broker, &args).await;
    println!("{:>28} {:>10}", "", "per second");
    for (name, per_second) in [
        ("REST, one job a request", rest),
        ("the same, of one tenant", one_tenant),
        ("REST, batches", batch),
        ("messages", messages),
        ("RabbitMQ alone", alone),
        ("Postgres alone, commits", postgres),
    ] {
        println!("{name:>28} {per_second:>10.0}");
    }
    for (name, rates) in &peers {
        println!("{name:>28} {:>10.0}", rates.one);
        println!("{:>28} {:>10.0}", format!("{name}, batches"), rates.batch);
    }
    let best = |rate: fn(&Rates) -> f64| peers.values().map(rate).fold(0.0, f64::max);
    println!(
        "jobs-enqueue: mq_per_s={messages:.0} rest_per_s={rest:.0} rest_one_tenant_per_s={one_tenant:.0} batch_per_s={batch:.0} rabbit_per_s={alone:.0} \
         pg_commits_per_s={postgres:.0} best_pg_per_s={:.0} best_pg_batch_per_s={:.0} rest_ratio={:.2} mq_ratio={:.2}",
        best(|rates| rates.one),
        best(|rates| rates.batch),
        rest / postgres,
        messages / alone,
    );
}

/// Jobs a second of another queue.
#[derive(Deserialize)]
struct Rates {
    one: f64,
    batch: f64,
}

/// Other queues on the same Postgres, by name. None without their packages.
async fn peers(args: &Args) -> BTreeMap<String, Rates> {
    let Ok(packages) = std::env::var("BENCH_PEERS") else { return BTreeMap::new() };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bench_jobs/peers.mjs");
    let mut node = tokio::process::Command::new("node");
    node.args([script, &packages, &std::env::var("BENCH_POSTGRES").unwrap()]);
    node.args([args.seconds.to_string(), args.clients.to_string(), BATCH.to_string()]);
    let output = node.output().await.unwrap();
    assert!(output.status.success(), "peers.mjs: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Who sends requests at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Senders {
    /// Members of as many tenants.
    Tenants,
    /// Members of one tenant.
    Members,
}

/// Jobs per second by REST, `size` in a request.
async fn requests(site: &Site, args: &Args, size: usize, senders: Senders) -> f64 {
    let (begun, end) = (Instant::now(), Duration::from_secs_f64(args.seconds));
    let done = AtomicUsize::new(0);
    // batches need few clients
    let clients = if size == 1 { args.clients } else { 4 };
    let member = site.member();
    join_all((0..clients).map(async |_| {
        let member = if senders == Senders::Tenants { site.member() } else { member.clone() };
        while begun.elapsed() < end {
            if size == 1 {
                site.post(&member, "/v1/jobs", &job("a fox")).await;
            } else {
                let jobs: Vec<Value> = (0..size).map(|_| job("a fox")).collect();
                site.post(&member, "/v1/job-batches", &json!({ "jobs": jobs })).await;
            }
            done.fetch_add(size, Ordering::Relaxed);
        }
    }))
    .await;
    rate(done.into_inner(), begun)
}

/// Rows a second, each with a commit of its own.
async fn commits(site: &Site, args: &Args) -> f64 {
    let mut conn = site.db.admin().await;
    let create =
        "create table bench (id bigint generated always as identity primary key, payload jsonb not null)";
    sqlx::query(create).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let (begun, end) = (Instant::now(), Duration::from_secs_f64(args.seconds));
    let done = AtomicUsize::new(0);
    // as many connections as the service has
    join_all((0..10).map(async |_| {
        let mut conn = site.db.admin().await;
        while begun.elapsed() < end {
            sqlx::query("insert into bench (payload) values ($1)")
                .bind(job("a fox"))
                .execute(&mut conn)
                .await
                .unwrap();
            done.fetch_add(1, Ordering::Relaxed);
        }
    }))
    .await;
    rate(done.into_inner(), begun)
}

/// Messages a second through a quorum queue: until the last one is acknowledged.
async fn rabbit(broker: &Broker, args: &Args) -> f64 {
    let (_connection, channel) = channel(&broker.url()).await;
    let mut quorum = FieldTable::default();
    quorum.insert("x-queue-type".into(), AMQPValue::LongString(LongString::from("quorum")));
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare("bench".into(), durable, quorum).await.unwrap();
    let (_consumer, consuming) = self::channel(&broker.url()).await;
    let mut messages = consuming
        .basic_consume("bench".into(), "".into(), BasicConsumeOptions::default(), FieldTable::default())
        .await
        .unwrap();
    let begun = Instant::now();
    let consume = async {
        for n in 1..=args.messages {
            let message = messages.next().await.unwrap().unwrap();
            // in groups, like the intake
            if n % 128 == 0 || n == args.messages {
                message.ack(BasicAckOptions { multiple: true }).await.unwrap();
            }
        }
    };
    let publish = publish(&channel, ("", "bench"), None, args.messages);
    tokio::join!(consume, publish);
    rate(args.messages, begun)
}

/// Jobs per second by message: until the last one has its row.
async fn measure_messages(site: &Site, broker: &Broker, args: &Args) -> f64 {
    let member = site.member();
    let made = site.post(&member, "/v1/mq-credentials", &json!({ "name": "bench" })).await;
    let (user, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let mut conn = site.db.admin().await;
    // a job has one event while it waits; a count of jobs would read all of them each time
    let events = "select last_value from jobs.job_events_id_seq";
    let count = "select count(*) from jobs.jobs where req_no is not null";
    let (_connection, channel) = channel(&broker.url_of(user, secret)).await;
    let messages = i64::try_from(args.messages).unwrap();
    let expected = messages + sqlx::query_scalar::<_, i64>(events).fetch_one(&mut conn).await.unwrap();
    let begun = Instant::now();
    publish(&channel, ("atelier.jobs", "ordinary"), Some(user), args.messages).await;
    for (sql, expected) in [(events, expected), (count, messages)] {
        while sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut conn).await.unwrap() < expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    rate(args.messages, begun)
}

/// Publishes messages, each confirmed.
async fn publish(channel: &Channel, (exchange, key): (&str, &str), user: Option<&str>, messages: usize) {
    let body =
        json!({ "method": "stable-diffusion.txt2img", "parameters": { "prompt": "a fox" } }).to_string();
    stream::iter(0..messages)
        .map(|_| {
            let header = |value: &str| AMQPValue::LongString(LongString::from(value));
            let mut headers = FieldTable::default();
            headers.insert("reqNo".into(), header(&Uuid::new_v4().to_string()));
            headers.insert("taskType".into(), header("GC"));
            let mut properties = BasicProperties::default()
                .with_content_type("application/json".into())
                .with_delivery_mode(2)
                .with_headers(headers);
            if let Some(user) = user {
                properties = properties.with_user_id(user.into());
            }
            let (body, options) = (body.as_bytes(), BasicPublishOptions::default());
            async move {
                let sent = channel.basic_publish(exchange.into(), key.into(), options, body, properties);
                assert_eq!(sent.await.unwrap().await.unwrap(), Confirmation::Ack(None));
            }
        })
        .buffer_unordered(UNCONFIRMED)
        .for_each(|()| async {})
        .await;
}

async fn channel(url: &str) -> (Connection, Channel) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    (connection, channel)
}

#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn rate(done: usize, begun: Instant) -> f64 {
    done as f64 / begun.elapsed().as_secs_f64()
}
