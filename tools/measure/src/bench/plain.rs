//! A peer of the jobs service: a quorum queue of RabbitMQ, and a consumer that takes one message at a time, works, and acknowledges.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, ensure};
use futures::StreamExt;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
        QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable, LongString},
};
use tokio::{task::JoinHandle, time::sleep};
use uuid::Uuid;

const QUEUE: &str = "plain";
/// Time that the work for a message takes.
const WORK: Duration = Duration::from_millis(100);
/// Pause before something is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time of one call to the broker.
const CALL: Duration = Duration::from_secs(2);

/// How often each message had its effect.
type Effects = Arc<Mutex<HashMap<Uuid, usize>>>;

/// The queue with its consumer.
pub(super) struct Plain {
    url: String,
    effects: Effects,
    consumer: JoinHandle<()>,
}

impl Plain {
    pub(super) fn start(url: String) -> Self {
        let effects = Effects::default();
        let consumer = tokio::spawn(consume(url.clone(), Arc::clone(&effects)));
        Self { url, effects, consumer }
    }

    /// Ends the consumer wherever it is, with its connection, and starts another at once.
    pub(super) fn kill_consumer(&mut self) {
        self.consumer.abort();
        self.consumer = tokio::spawn(consume(self.url.clone(), Arc::clone(&self.effects)));
    }

    /// Publishes a message, again until the broker has confirmed it.
    pub(super) async fn publish(&self, number: Uuid) {
        while !matches!(tokio::time::timeout(CALL, publish(&self.url, number)).await, Ok(Ok(()))) {
            sleep(PAUSE).await;
        }
    }

    /// Waits until a message has had its effect.
    pub(super) async fn expect_effect(&self, number: Uuid) {
        while self.effects(number) == 0 {
            sleep(PAUSE / 10).await;
        }
    }

    /// How often a message had its effect.
    pub(super) fn effects(&self, number: Uuid) -> usize {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).get(&number).copied().unwrap_or_default()
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.consumer.abort();
    }
}

/// Connects again whenever the connection is lost.
async fn consume(url: String, effects: Effects) {
    loop {
        let _ = consume_once(&url, &effects).await;
        sleep(PAUSE).await;
    }
}

async fn consume_once(url: &str, effects: &Effects) -> anyhow::Result<()> {
    let (connection, channel) = tokio::time::timeout(CALL, connect(url)).await??;
    tokio::time::timeout(CALL, channel.basic_qos(1, BasicQosOptions::default())).await??;
    let options = BasicConsumeOptions::default();
    let consume = channel.basic_consume(QUEUE.into(), "".into(), options, FieldTable::default());
    let mut messages = tokio::time::timeout(CALL, consume).await??;
    // what waits for a connection that is lost may wait for ever
    while connection.status().connected() {
        let Ok(message) = tokio::time::timeout(PAUSE, messages.next()).await else { continue };
        let message = message.context("the consumer was ended")??;
        let number = Uuid::from_slice(&message.data)?;
        sleep(WORK).await;
        *effects.lock().unwrap_or_else(PoisonError::into_inner).entry(number).or_default() += 1;
        tokio::time::timeout(CALL, message.ack(BasicAckOptions::default())).await??;
    }
    Ok(())
}

async fn publish(url: &str, number: Uuid) -> anyhow::Result<()> {
    let (_connection, channel) = connect(url).await?;
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let persistent = BasicProperties::default().with_delivery_mode(2);
    let sent = channel.basic_publish("".into(), QUEUE.into(), options, number.as_bytes(), persistent).await?;
    ensure!(sent.await? == Confirmation::Ack(None), "the broker does not take it");
    Ok(())
}

async fn connect(url: &str) -> anyhow::Result<(Connection, Channel)> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await.context("no channel")?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let mut quorum = FieldTable::default();
    quorum.insert("x-queue-type".into(), AMQPValue::LongString(LongString::from("quorum")));
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(QUEUE.into(), durable, quorum).await?;
    Ok((connection, channel))
}
