//! Exchanges and queues, with their arguments. The broker refuses a declaration with other arguments, so they
//! are written only here.

use ids::TenantId;
use lapin::{
    BasicProperties, Channel, Connection, ExchangeKind, PublisherConfirm,
    options::{BasicPublishOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};

/// Where tenants publish jobs.
pub(super) const JOBS: &str = "atelier.jobs";
/// Where events are published.
pub(super) const EVENTS: &str = "atelier.events";
/// Exchange for messages of [`JOBS`] with a routing key of no queue.
const UNROUTED: &str = "atelier.unrouted";
/// Messages that have expired, or were delivered too often.
const DEAD: &str = "atelier.dead";

/// A queue that nobody reads, and its routing key in [`EVENTS`].
const PROBE: &str = "atelier.probe";
/// How long that queue is kept unused.
const PROBE_MS: i64 = 60_000;

/// Maximum number of deliveries of a message: this service crashed at each one.
const DELIVERY_LIMIT: i64 = 5;
/// Maximum number of messages that wait to be taken in; beyond it, messages are refused to their publishers.
const INTAKE_LIMIT: i64 = 1_000_000;
/// Maximum number of events that wait for a tenant; beyond it, the oldest are dropped.
const EVENTS_LIMIT: i64 = 100_000;
/// How long an event waits.
const EVENTS_AGE_MS: i64 = 7 * 24 * 3_600 * 1_000;
/// A queue of events that nobody reads for this long is deleted; the next event creates it again.
const EVENTS_UNUSED_MS: i64 = 8 * 24 * 3_600 * 1_000;

/// A queue of messages from tenants. Submitted jobs have two, so that a flood of ordinary jobs does not delay
/// the intake of urgent ones. Messages in the other queues are refused, so that every message that the broker
/// has confirmed is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intake {
    Urgent,
    Ordinary,
    /// Messages that no queue takes.
    Unrouted,
    /// Messages that have expired, or were delivered too often.
    Dead,
}

impl Intake {
    pub(super) const ALL: [Self; 4] = [Self::Urgent, Self::Ordinary, Self::Unrouted, Self::Dead];
    /// The routing keys in [`JOBS`].
    pub(super) const KEYS: [&str; 2] = ["urgent", "ordinary"];

    pub(super) fn queue(self) -> &'static str {
        match self {
            Self::Urgent => "jobs.submit.urgent",
            Self::Ordinary => "jobs.submit.ordinary",
            Self::Unrouted => "jobs.unrouted",
            Self::Dead => "jobs.dead",
        }
    }

    /// The exchange and the routing key of its messages.
    fn binding(self) -> (&'static str, &'static str) {
        match self {
            Self::Urgent => (JOBS, Self::KEYS[0]),
            Self::Ordinary => (JOBS, Self::KEYS[1]),
            Self::Unrouted => (UNROUTED, ""),
            Self::Dead => (DEAD, ""),
        }
    }
}

/// The queue of a tenant's events.
pub(super) fn queue_of(tenant: TenantId) -> String {
    format!("events.{tenant}")
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(value))
}

async fn exchange(
    channel: &Channel,
    name: &str,
    kind: ExchangeKind,
    arguments: FieldTable,
) -> lapin::Result<()> {
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel.exchange_declare(name.into(), kind, options, arguments).await
}

/// Declares a quorum queue, and binds it.
async fn queue(
    channel: &Channel,
    name: &str,
    exchange: &str,
    key: &str,
    arguments: &[(&str, AMQPValue)],
) -> lapin::Result<()> {
    let mut table = FieldTable::default();
    table.insert("x-queue-type".into(), text("quorum"));
    for (name, value) in arguments {
        table.insert((*name).into(), value.clone());
    }
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.into(), options, table).await?;
    let (options, none) = (QueueBindOptions::default(), FieldTable::default());
    channel.queue_bind(name.into(), exchange.into(), key.into(), options, none).await
}

/// Declares everything that does not belong to a tenant.
pub(super) async fn declare(connection: &Connection) -> lapin::Result<()> {
    let channel = connection.create_channel().await?;
    exchange(&channel, EVENTS, ExchangeKind::Topic, FieldTable::default()).await?;
    exchange(&channel, DEAD, ExchangeKind::Fanout, FieldTable::default()).await?;
    exchange(&channel, UNROUTED, ExchangeKind::Fanout, FieldTable::default()).await?;
    let mut arguments = FieldTable::default();
    arguments.insert("alternate-exchange".into(), text(UNROUTED));
    exchange(&channel, JOBS, ExchangeKind::Direct, arguments).await?;
    for intake in Intake::ALL {
        declare_intake(&channel, intake).await?;
    }
    channel.close(200, "done".into()).await
}

async fn declare_intake(channel: &Channel, intake: Intake) -> lapin::Result<()> {
    let limits = [
        ("x-delivery-limit", AMQPValue::LongLongInt(DELIVERY_LIMIT)),
        ("x-dead-letter-exchange", text(DEAD)),
        ("x-dead-letter-strategy", text("at-least-once")),
        // a publisher gets a nack, not a loss
        ("x-overflow", text("reject-publish")),
        ("x-max-length", AMQPValue::LongLongInt(INTAKE_LIMIT)),
    ];
    let arguments = if intake == Intake::Dead { &[][..] } else { &limits[..] };
    let (exchange, key) = intake.binding();
    queue(channel, intake.queue(), exchange, key, arguments).await
}

/// Declares the queue of a tenant's events.
pub(super) async fn declare_events(channel: &Channel, tenant: TenantId) -> lapin::Result<()> {
    let arguments = [
        ("x-max-length", AMQPValue::LongLongInt(EVENTS_LIMIT)),
        ("x-message-ttl", AMQPValue::LongLongInt(EVENTS_AGE_MS)),
        ("x-expires", AMQPValue::LongLongInt(EVENTS_UNUSED_MS)),
    ];
    queue(channel, &queue_of(tenant), EVENTS, &format!("{tenant}.#"), &arguments).await
}

/// Publishes a message to a queue that nobody reads, which shows that the broker accepts messages.
pub(super) async fn probe(channel: &Channel) -> lapin::Result<PublisherConfirm> {
    let limits =
        [("x-max-length", AMQPValue::LongLongInt(1)), ("x-expires", AMQPValue::LongLongInt(PROBE_MS))];
    queue(channel, PROBE, EVENTS, PROBE, &limits).await?;
    let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
    channel.basic_publish(EVENTS.into(), PROBE.into(), options, b"", properties).await
}
