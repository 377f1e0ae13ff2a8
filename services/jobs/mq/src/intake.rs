//! Intake of messages, from one queue. They are received as they arrive and wait in [`Lanes`], so that the
//! broker's queue stays short, and tenants are served in turn. A batch is one transaction, and is
//! acknowledged after it. Messages that a crash leaves unacknowledged are delivered again, and recognized by
//! their request numbers.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use futures::{
    StreamExt as _,
    future::{BoxFuture, try_join_all},
    stream::FuturesUnordered,
};
use jobs_core::refusal::Code;
use lapin::{
    Channel, Connection, Consumer,
    options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions},
    types::FieldTable,
};
use tokio::{
    sync::Notify,
    task::{JoinSet, yield_now},
    time::{Instant, sleep},
};

use super::{
    Parts,
    broker_state::{first_to_end, timed},
    lanes::{Acknowledgements, Batch, Check, Excess, Lanes, Owner, Waits},
    message::Message,
    take,
    topology::Intake,
};

/// Messages that the broker delivers ahead: more than fit, so that those beyond are refused.
const PREFETCH: u16 = u16::MAX;
/// Messages that are received before other tasks run.
const RECEIVED: usize = 32;
/// How long a batch waits for more messages while the intake is idle.
const GATHER: Duration = Duration::from_millis(5);
/// Concurrent transactions, in addition to one that refuses messages that did not fit: a tenant with a flood
/// of messages occupies one of each.
const TRANSACTIONS: usize = 2;
/// Tenants whose uploads are checked at a time.
const CHECKS: usize = 16;

/// Takes messages of a queue in until the channel is lost.
pub(super) async fn run(
    parts: Parts,
    connection: Arc<Connection>,
    queue: Intake,
) -> anyhow::Result<Infallible> {
    let channel = timed(connection.create_channel()).await?;
    timed(channel.basic_qos(PREFETCH, BasicQosOptions::default())).await?;
    let (tag, options) = ("".into(), BasicConsumeOptions::default());
    let consume = channel.basic_consume(queue.queue().into(), tag, options, FieldTable::default());
    let consumer = timed(consume).await?;
    let flow = Arc::new(Flow {
        parts,
        channel,
        queue,
        lanes: Mutex::default(),
        to_take: Notify::new(),
        to_check: Notify::new(),
    });
    let (receiving, taking) = (Arc::clone(&flow), Arc::clone(&flow));
    // a task each, so that a flood of one queue does not delay other work
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { receiving.receive(consumer).await });
    tasks.spawn(async move { taking.take_in().await });
    tasks.spawn(async move { flow.check().await });
    first_to_end(tasks).await
}

struct Flow {
    parts: Parts,
    channel: Channel,
    queue: Intake,
    lanes: Mutex<Lanes>,
    /// There are messages to take in, or to refuse.
    to_take: Notify,
    /// There are messages whose uploads must be checked.
    to_check: Notify,
}

impl Flow {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn receive(&self, mut consumer: Consumer) -> anyhow::Result<Infallible> {
        let mut received = 0_usize;
        loop {
            let mut delivery = consumer.next().await.context("the broker has ended the consumer")??;
            let message = Message::of(&mut delivery, self.queue);
            let owner = self.owner(&message);
            let names_uploads = message.fault.is_none() && take::names_uploads(&message);
            match self.lanes().push(owner, delivery.delivery_tag, message, names_uploads) {
                Waits::ToBeTaken | Waits::ToBeRefused => self.to_take.notify_one(),
                Waits::ForCheck => self.to_check.notify_one(),
            }
            received += 1;
            if received.is_multiple_of(RECEIVED) {
                yield_now().await;
            }
        }
    }

    /// Returns the owner of a message. Does not query Postgres, as received messages must be sorted at once.
    /// While earlier messages of a credential wait for its tenant, later ones are queued behind them.
    fn owner(&self, message: &Message) -> Owner {
        let Some(id) = take::credential(message) else { return Owner::Nobody };
        let unknown = Owner::Credential(id);
        match self.parts.broker.tenants.get(&id) {
            Some(tenant) if !self.lanes().has(unknown) => Owner::Tenant(tenant),
            _ => unknown,
        }
    }

    /// Takes in batches, and refuses messages that did not fit.
    async fn take_in(&self) -> anyhow::Result<Infallible> {
        let mut running: FuturesUnordered<BoxFuture<'_, anyhow::Result<bool>>> = FuturesUnordered::new();
        let mut refuses = false;
        loop {
            let excess = if refuses { Vec::new() } else { self.lanes().take_excess() };
            if !excess.is_empty() {
                refuses = true;
                running.push(Box::pin(async move { self.refuse(excess).await.map(|()| true) }));
            }
            while running.len() < TRANSACTIONS + usize::from(refuses) {
                let Some(batch) = ({ self.lanes().take() }) else { break };
                running.push(Box::pin(async move { self.take(batch).await.map(|()| false) }));
            }
            tokio::select! {
                Some(refused) = running.next() => {
                    if refused? {
                        refuses = false;
                    }
                }
                () = self.to_take.notified() => {
                    if running.is_empty() {
                        sleep(GATHER).await;
                    }
                }
            }
        }
    }

    async fn take(&self, batch: Batch) -> anyhow::Result<()> {
        let begun = Instant::now();
        for outcome in take::settle(&self.parts, &batch.messages).await {
            self.parts.metrics.message_taken(outcome.as_str());
        }
        self.parts.submitted.send_replace(());
        self.parts.broker.published.send_replace(());
        let done = self.lanes().taken(&batch);
        self.acknowledge(done).await?;
        self.parts.metrics.intake_took(begun.elapsed().as_secs_f64());
        Ok(())
    }

    async fn refuse(&self, excess: Vec<Excess>) -> anyhow::Result<()> {
        take::refuse_excess(&self.parts, &excess).await;
        for _ in &excess {
            self.parts.metrics.message_taken(Code::TooManyMessages.as_str());
        }
        self.parts.broker.published.send_replace(());
        let done = self.lanes().refused(&excess);
        self.acknowledge(done).await
    }

    async fn acknowledge(&self, done: Acknowledgements) -> anyhow::Result<()> {
        if let Some(tag) = done.up_to {
            timed(self.channel.basic_ack(tag, BasicAckOptions { multiple: true })).await?;
        }
        let single =
            done.single.into_iter().map(|tag| self.channel.basic_ack(tag, BasicAckOptions::default()));
        timed(try_join_all(single)).await.map(drop)
    }

    /// Checks uploads concurrently with the intake: only messages of the same tenant wait for the storage
    /// service.
    async fn check(&self) -> anyhow::Result<Infallible> {
        let mut running: FuturesUnordered<BoxFuture<'_, Check>> = FuturesUnordered::new();
        loop {
            while running.len() < CHECKS {
                let Some(check) = ({ self.lanes().take_unchecked() }) else { break };
                running.push(Box::pin(async move {
                    if let Some(tenant) = take::tenant(&self.parts, check.owner).await {
                        take::confirm_uploads(&self.parts, tenant, check.messages()).await;
                    }
                    check
                }));
            }
            tokio::select! {
                Some(check) = running.next() => {
                    self.lanes().checked(check);
                    self.to_take.notify_one();
                }
                () = self.to_check.notified() => {}
            }
        }
    }
}
