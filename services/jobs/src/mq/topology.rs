//! Exchanges and queues, with their arguments. A queue that is declared with others is refused by the broker, so they are
//! written here only.

use ids::TenantId;
use lapin::{
    Channel, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongString},
};

/// Where tenants publish jobs.
pub(super) const JOBS: &str = "atelier.jobs";
/// Where events are published.
pub(super) const EVENTS: &str = "atelier.events";
/// Messages that were delivered too often.
const DEAD: &str = "atelier.dead";

/// Deliveries of a message, at most: this service has crashed with it each time.
const DELIVERY_LIMIT: i64 = 5;
/// Messages that wait to be taken in, at most: more are refused to their publishers.
const INTAKE_LIMIT: i64 = 1_000_000;
/// Events of a tenant that wait for it, at most: then the oldest are dropped.
const EVENTS_LIMIT: i64 = 100_000;
/// How long an event waits.
const EVENTS_AGE_MS: i64 = 7 * 24 * 3_600 * 1_000;
/// A queue of events that nobody reads for this long is deleted; the next event creates it again.
const EVENTS_UNUSED_MS: i64 = 8 * 24 * 3_600 * 1_000;

/// A queue of submitted jobs. There are two, so that a flood of ordinary ones does not delay the intake of urgent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intake {
    Urgent,
    Ordinary,
}

impl Intake {
    pub(super) const ALL: [Self; 2] = [Self::Urgent, Self::Ordinary];

    /// The routing key in [`JOBS`].
    fn key(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Ordinary => "ordinary",
        }
    }

    pub(super) fn queue(self) -> String {
        format!("jobs.submit.{}", self.key())
    }
}

/// The queue of a tenant's events.
pub(super) fn queue_of(tenant: TenantId) -> String {
    format!("events.{tenant}")
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(value))
}

async fn exchange(channel: &Channel, name: &str, kind: ExchangeKind) -> lapin::Result<()> {
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel.exchange_declare(name.into(), kind, options, FieldTable::default()).await
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

/// Declares what does not belong to a tenant.
pub(super) async fn declare(channel: &Channel) -> lapin::Result<()> {
    exchange(channel, JOBS, ExchangeKind::Direct).await?;
    exchange(channel, EVENTS, ExchangeKind::Topic).await?;
    exchange(channel, DEAD, ExchangeKind::Fanout).await?;
    queue(channel, "jobs.dead", DEAD, "", &[]).await?;
    for intake in Intake::ALL {
        let arguments = [
            ("x-delivery-limit", AMQPValue::LongLongInt(DELIVERY_LIMIT)),
            ("x-dead-letter-exchange", text(DEAD)),
            ("x-dead-letter-strategy", text("at-least-once")),
            // a publisher gets a nack, not a loss
            ("x-overflow", text("reject-publish")),
            ("x-max-length", AMQPValue::LongLongInt(INTAKE_LIMIT)),
        ];
        queue(channel, &intake.queue(), JOBS, intake.key(), &arguments).await?;
    }
    Ok(())
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
