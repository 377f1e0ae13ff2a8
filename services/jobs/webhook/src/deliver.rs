//! Sends deliveries from the row queue: at least once. A message that was sent but could not be recorded is
//! sent again, with the same `webhook-id`.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use db::{
    Db,
    queue::{self, Leased, Queue, Settings},
};
use encryption::{Cipher, EncryptionKey};
use ids::DeliveryId;
use jiff::Timestamp;
use rand::RngExt as _;
use records::{NAME, event::Hub};
use service::{Duty, Metrics, Task};
use tokio::time::Instant;

use super::{
    deliveries::{self, Due, QUEUE},
    fan_out,
    model::{DeliveryAttempt, DeliveryState, TEST, delay},
    sender::{Message, Sender},
    signature, store,
};
use crate::{WebhookMetrics, WebhooksConfig};

/// Messages that are sent at a time, in one replica.
const CONCURRENCY: usize = 64;
/// Maximum number of messages of one tenant that are sent at a time.
const TENANT_CONCURRENCY: usize = 8;
const LEASE: Duration = Duration::from_secs(15);
/// An endpoint that has accepted nothing for this long is disabled when a message has no attempts left, or is
/// about to be held again.
const GIVE_UP: Duration = Duration::from_hours(72);

/// Sends events to endpoints. Clones share connections.
#[derive(Clone)]
pub struct Webhooks {
    db: Db,
    queue: Queue<DeliveryId>,
    cipher: Option<Arc<Cipher>>,
    sender: Sender,
    clock: fn() -> Timestamp,
    metrics: WebhookMetrics,
}

impl Webhooks {
    /// # Errors
    /// If a key is not valid.
    pub fn new(
        db: &Db,
        (keys, config): (&[EncryptionKey], WebhooksConfig),
        clock: fn() -> Timestamp,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let settings = Settings {
            concurrency: CONCURRENCY,
            lane_concurrency: TENANT_CONCURRENCY,
            lease: LEASE,
            ..Settings::default()
        };
        let cipher = if keys.is_empty() { None } else { Some(Arc::new(Cipher::new(NAME, keys)?)) };
        Ok(Self {
            db: db.clone(),
            queue: Queue::new(db, QUEUE, settings, metrics),
            cipher,
            sender: Sender::new(config)?,
            clock,
            metrics: WebhookMetrics::register(metrics),
        })
    }

    /// The cipher of secrets; none without keys.
    pub(super) fn cipher(&self) -> Option<&Cipher> {
        self.cipher.as_deref()
    }

    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The tasks that enqueue deliveries of new events, and those of their queue.
    pub fn tasks(&self, hub: &Hub) -> [Task; 3] {
        let parts = (self.db.clone(), hub.feed().with(fan_out::EVENTS));
        let webhooks = self.clone();
        let [reconcile, follow] = self.queue.tasks("deliveries", move |leased| {
            let webhooks = webhooks.clone();
            async move { webhooks.deliver(leased).await }
        });
        let fan_out = Task::until_stop("webhooks", Duty::Follow, &parts, |(db, feed), stop| async move {
            fan_out::run(&db, &feed, &stop).await
        });
        [fan_out, reconcile, follow]
    }

    async fn deliver(&self, leased: Leased<DeliveryId>) -> anyhow::Result<queue::Outcome> {
        let mut tx = self.db.worker().await?;
        let due = deliveries::due(&mut tx, leased.key).await?;
        drop(tx);
        let Some(due) = due else { return Ok(queue::Outcome::Done) };
        let is_test = due.kind == TEST;
        if !due.enabled && !is_test {
            return self.record(leased, &due, Outcome::of(DeliveryState::Cancelled)).await;
        }
        if let Some(held) = due.held_for.filter(|_| !is_test) {
            return Ok(queue::Outcome::RequeueAfter(held.mul_f64(rand::rng().random_range(1.0..=1.01))));
        }
        let (began, at) = (Instant::now(), (self.clock)());
        let result = self.sender.send(&due.url, &self.message(&due, at)?).await;
        let attempt = Some(DeliveryAttempt::new(at, began.elapsed(), result));
        let outcome = match result {
            Ok(_) => Outcome { attempt, ..Outcome::of(DeliveryState::Delivered) },
            Err(error) => {
                let again = delay(due.failed + 1, error, rand::rng().random()).filter(|_| !is_test);
                let state = if again.is_some() { DeliveryState::Pending } else { DeliveryState::Failed };
                Outcome { state, attempt, again, is_gone: error.is_gone(), hold: error.hold() }
            }
        };
        self.record(leased, &due, outcome).await
    }

    fn message<'d>(&self, due: &'d Due, at: Timestamp) -> anyhow::Result<Message<'d>> {
        let cipher = self.cipher().context("encryption_keys is not configured")?;
        let context = store::context(due.webhook);
        let secrets = due.secrets.iter().map(|secret| cipher.decrypt(secret, &context));
        let secrets = secrets.collect::<anyhow::Result<Vec<_>>>()?;
        let signature = signature::sign(&secrets, &due.message, at.as_second(), &due.body);
        Ok(Message { id: &due.message, timestamp: at, signature, body: due.body.clone() })
    }

    /// Records the result of an attempt, and releases the delivery in the same transaction.
    async fn record(
        &self,
        leased: Leased<DeliveryId>,
        due: &Due,
        mut outcome: Outcome,
    ) -> anyhow::Result<queue::Outcome> {
        let mut tx = self.db.worker().await?;
        let mut is_disabled = outcome.is_gone && store::disable_gone(&mut tx, due.webhook, &due.url).await?;
        if is_disabled {
            (outcome.state, outcome.again) = (DeliveryState::Failed, None);
        }
        if let Some(hold) = outcome.hold {
            store::hold(&mut tx, due.webhook, &due.url, hold).await?;
        }
        // the webhook is locked first, as by its deletion
        match outcome.state {
            DeliveryState::Delivered => store::record_success(&mut tx, due.webhook).await?,
            DeliveryState::Pending => {
                store::record_failure(&mut tx, due.webhook).await?;
                // repeated holds use up no attempts of messages
                if outcome.hold.is_some() && store::disable_failing(&mut tx, due.webhook, GIVE_UP).await? {
                    is_disabled = true;
                    (outcome.state, outcome.again) = (DeliveryState::Failed, None);
                }
            }
            DeliveryState::Failed if due.kind != TEST && !is_disabled => {
                store::record_failure(&mut tx, due.webhook).await?;
                is_disabled = store::disable_failing(&mut tx, due.webhook, GIVE_UP).await?;
            }
            DeliveryState::Failed | DeliveryState::Cancelled => {}
        }
        if !leased.release(&mut tx, outcome.again).await? {
            // another replica sends it, or the webhook was deleted
            return Ok(queue::Outcome::Released);
        }
        deliveries::record(&mut tx, leased.key, outcome.state, outcome.attempt.as_ref()).await?;
        tx.commit().await?;
        if let Some(attempt) = outcome.attempt {
            self.metrics.attempted(attempt.outcome());
        }
        if is_disabled {
            tracing::info!(webhook.id = %due.webhook, gone = outcome.is_gone, "webhook disabled");
        }
        Ok(queue::Outcome::Released)
    }
}

/// The result of an attempt.
struct Outcome {
    state: DeliveryState,
    attempt: Option<DeliveryAttempt>,
    /// When it is sent again.
    again: Option<Duration>,
    /// The endpoint wants no more messages.
    is_gone: bool,
    /// It wants no messages for this long.
    hold: Option<Duration>,
}

impl Outcome {
    fn of(state: DeliveryState) -> Self {
        Self { state, attempt: None, again: None, is_gone: false, hold: None }
    }
}
