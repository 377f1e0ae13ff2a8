//! How long a tenant waits for the answer to a message while another sends as many as the broker accepts:
//! malformed and unroutable messages, messages that name uploads without content, and jobs. Alternates with
//! the same tenant alone.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt as _, stream};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer,
    options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions},
    types::{AMQPValue, FieldTable, LongString},
};
use rabbitmq::{Broker, Options};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::timeout};
use uuid::Uuid;

use crate::service::{Site, percentile};

/// Messages of the flood that may be unconfirmed at a time.
const UNCONFIRMED: usize = 500;
/// Longest time for an answer.
const LATE: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Messages of the victim in each turn
    #[arg(long, default_value_t = 200)]
    messages: usize,
    /// Messages that the flood begins with, before the victim sends its first
    #[arg(long, default_value_t = 20_000)]
    flood: usize,
    /// Maximum number of messages of a flood
    #[arg(long, default_value_t = usize::MAX)]
    most: usize,
    /// Milliseconds between two messages of the victim
    #[arg(long, default_value_t = 20)]
    pause_ms: u64,
    /// Turns
    #[arg(long, default_value_t = 3)]
    turns: usize,
}

/// The messages of the other tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flood {
    Malformed,
    Unrouted,
    Uploads,
    Jobs,
}

impl Flood {
    const ALL: [Self; 4] = [Self::Malformed, Self::Unrouted, Self::Uploads, Self::Jobs];

    fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unrouted => "unrouted",
            Self::Uploads => "uploads",
            Self::Jobs => "jobs",
        }
    }

    fn key(self) -> &'static str {
        if self == Self::Unrouted { "nowhere" } else { "ordinary" }
    }

    fn body(self) -> Vec<u8> {
        let (method, parameters) = match self {
            Self::Malformed => return b"{".to_vec(),
            Self::Uploads => {
                let image = "upl_01939f0a7c3d7e6b8a1f4f0d5c2b1a00";
                ("stable-diffusion.img2img", json!({ "prompt": "a fox", "image": image }))
            }
            Self::Unrouted | Self::Jobs => ("stable-diffusion.txt2img", json!({ "prompt": "a fox" })),
        };
        json!({ "method": method, "parameters": parameters }).to_string().into_bytes()
    }
}

pub(crate) async fn run(args: Args) {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let auth = site.broker_listener().await;
    let options = Options { folder: folder.path().to_owned(), port: None, auth: Some(auth) };
    let broker = Broker::start(&options).await.unwrap();
    let site = site.with_broker(broker.url()).await;
    site.pool(0).await;
    let victim = Line::open(&site, &broker).await;
    let mut events = victim.events().await;
    let (mut alone, mut beside) = (Vec::new(), HashMap::<&str, Vec<f64>>::new());
    println!("{:>12} {:>10} {:>10} {:>10}", "flood", "sent", "p50 ms", "p99 ms");
    for _ in 0..args.turns {
        for flood in Flood::ALL {
            let mut waits = victim.follow(&args, &mut events).await;
            show("none", 0, &mut waits);
            alone.append(&mut waits);
            let other = Line::open(&site, &broker).await;
            let (sent, running) = start(&other, flood, args.most);
            while sent.load(Ordering::Relaxed) < args.flood {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut waits = victim.follow(&args, &mut events).await;
            running.abort();
            show(flood.name(), sent.load(Ordering::Relaxed), &mut waits);
            beside.entry(flood.name()).or_default().append(&mut waits);
            drained(&site).await;
        }
    }
    let alone_p99 = percentile(&mut alone, 0.99);
    print!("jobs-intake: alone_p50_ms={:.1} alone_p99_ms={alone_p99:.1}", percentile(&mut alone, 0.5));
    for flood in Flood::ALL {
        print!(" {}_p99_ms={:.1}", flood.name(), percentile(beside.get_mut(flood.name()).unwrap(), 0.99));
    }
    println!();
}

fn show(name: &str, sent: usize, waits: &mut [f64]) {
    println!("{name:>12} {sent:>10} {:>10.1} {:>10.1}", percentile(waits, 0.5), percentile(waits, 0.99));
}

/// Waits until the flood is drained.
async fn drained(site: &Site) {
    let mut conn = site.db.admin().await;
    let (begun, mut last) = (Instant::now(), Instant::now());
    while last.elapsed() < Duration::from_millis(500) && begun.elapsed() < LATE {
        let left: i64 =
            sqlx::query_scalar("select count(*) from jobs.mq_outbox").fetch_one(&mut conn).await.unwrap();
        if left > 0 {
            last = Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends until it is aborted, or has sent `most`. Returns the number of messages sent.
fn start(line: &Line, flood: Flood, most: usize) -> (Arc<AtomicUsize>, JoinHandle<()>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let (count, channel, user) = (Arc::clone(&sent), line.channel.clone(), line.user.clone());
    let running = tokio::spawn(async move {
        let body = flood.body();
        let publish = stream::repeat(())
            .take(most)
            .map(|()| publish(&channel, &user, flood.key(), &body, Uuid::new_v4()));
        publish
            .buffer_unordered(UNCONFIRMED)
            .for_each(|()| async {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .await;
    });
    (sent, running)
}

/// A connection of a new tenant.
struct Line {
    connection: Connection,
    channel: Channel,
    user: String,
    queue: String,
}

impl Line {
    async fn open(site: &Site, broker: &Broker) -> Self {
        let made = site.post(&site.member(), "/v1/mq-credentials", &json!({ "name": "bench" })).await;
        let user = made["id"].as_str().unwrap().to_owned();
        let url = broker.url_of(&user, made["secret"].as_str().unwrap());
        let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        let queue = made["queue"].as_str().unwrap().to_owned();
        Self { connection, channel, user, queue }
    }

    async fn events(&self) -> Consumer {
        let channel = self.connection.create_channel().await.unwrap();
        let (queue, options) = (self.queue.as_str().into(), BasicConsumeOptions::default());
        channel.basic_consume(queue, "".into(), options, FieldTable::default()).await.unwrap()
    }

    /// Sends messages at a steady rate. Returns the milliseconds until each was answered.
    async fn follow(&self, args: &Args, events: &mut Consumer) -> Vec<f64> {
        let body = Flood::Jobs.body();
        let numbers: Vec<Uuid> = (0..args.messages).map(|_| Uuid::new_v4()).collect();
        let sent: std::sync::Mutex<HashMap<Uuid, Instant>> = std::sync::Mutex::default();
        let mut waits = Vec::new();
        let send = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(args.pause_ms));
            for number in &numbers {
                ticks.tick().await;
                sent.lock().unwrap().insert(*number, Instant::now());
                publish(&self.channel, &self.user, "ordinary", &body, *number).await;
            }
        };
        let read = async {
            while waits.len() < numbers.len() {
                let delivery = timeout(LATE, events.next()).await.expect("an answer comes");
                let delivery = delivery.unwrap().unwrap();
                delivery.acker.ack(BasicAckOptions::default()).await.unwrap();
                let event: Value = serde_json::from_slice(&delivery.data).unwrap();
                let number = event["reqNo"].as_str().and_then(|text| text.parse().ok());
                if let Some(begun) = number.and_then(|number: Uuid| sent.lock().unwrap().remove(&number)) {
                    waits.push(begun.elapsed().as_secs_f64() * 1_000.0);
                }
            }
        };
        tokio::join!(send, read);
        waits
    }
}

async fn publish(channel: &Channel, user: &str, key: &str, body: &[u8], number: Uuid) {
    let header = |value: &str| AMQPValue::LongString(LongString::from(value));
    let mut headers = FieldTable::default();
    headers.insert("reqNo".into(), header(&number.to_string()));
    headers.insert("taskType".into(), header("GC"));
    let properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_user_id(user.into())
        .with_headers(headers);
    let options = BasicPublishOptions::default();
    let sent = channel.basic_publish("atelier.jobs".into(), key.into(), options, body, properties);
    assert_eq!(sent.await.unwrap().await.unwrap(), Confirmation::Ack(None));
}
