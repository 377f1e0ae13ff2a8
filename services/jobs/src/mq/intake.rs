//! Messages in: a batch is one transaction, and is acknowledged after it. What a crash leaves unacknowledged is delivered
//! again, and found by its request number.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    time::Duration,
};

use anyhow::Context as _;
use futures::StreamExt as _;
use ids::{DeadMessageId, MqCredentialId, TenantId, UploadId};
use lapin::{
    Connection, Consumer,
    message::Delivery,
    options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions},
    types::FieldTable,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    door::timed,
    message::{Message, Properties},
    model::{self, Code, Refusal},
    outbox, store,
    topology::Intake,
};
use crate::{
    error::Error,
    job::{self, NewJob, Submitted},
    state::AppState,
};

/// Messages that the broker delivers ahead.
const PREFETCH: u16 = 1_024;
/// Messages of a transaction, at most.
const BATCH: usize = 512;
/// How long a batch waits for more messages.
const GATHER: Duration = Duration::from_millis(5);
/// Pauses before a batch is tried again while Postgres does not answer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Takes messages of a queue in until the channel is lost.
pub(super) async fn run(
    state: &AppState,
    connection: &Connection,
    queue: Intake,
) -> anyhow::Result<Infallible> {
    let channel = timed(connection.create_channel()).await?;
    timed(channel.basic_qos(PREFETCH, BasicQosOptions::default())).await?;
    let (tag, options) = ("".into(), BasicConsumeOptions::default());
    let consume = channel.basic_consume(queue.queue().into(), tag, options, FieldTable::default());
    let mut consumer = timed(consume).await?;
    loop {
        let mut deliveries = gather(&mut consumer).await?;
        let begun = Instant::now();
        let messages: Vec<Message> = deliveries.iter_mut().map(|one| Message::of(one, queue)).collect();
        for outcome in settle(state, &messages).await {
            state.metrics.message_taken(outcome.as_str());
        }
        state.submitted.send_replace(());
        state.door.published.send_replace(());
        if let Some(last) = deliveries.last() {
            timed(last.acker.ack(BasicAckOptions { multiple: true })).await?;
        }
        state.metrics.intake_took(begun.elapsed().as_secs_f64());
    }
}

/// Waits for a message, and then for those that come at the same time.
async fn gather(consumer: &mut Consumer) -> anyhow::Result<Vec<Delivery>> {
    let ended = "the broker has ended the consumer";
    let mut deliveries = vec![consumer.next().await.context(ended)??];
    let until = Instant::now() + GATHER;
    while deliveries.len() < BATCH {
        match timeout_at(until, consumer.next()).await {
            Ok(next) => deliveries.push(next.context(ended)??),
            Err(_) => break,
        }
    }
    Ok(deliveries)
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Accepted,
    /// Its job was there already.
    Duplicate,
    Refused(Code),
}

impl Outcome {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Refused(code) => code.as_str(),
        }
    }
}

/// Takes messages in, each exactly once, however long Postgres is away. One that Postgres does not store is refused by
/// itself: it does not block the others.
async fn settle(state: &AppState, messages: &[Message]) -> Vec<Outcome> {
    match attempt(state, messages).await {
        Ok(outcomes) => outcomes,
        Err(error) => {
            tracing::error!(
                error = format!("{error:#}"),
                messages = messages.len(),
                "not stored: one by one"
            );
            let mut outcomes = Vec::with_capacity(messages.len());
            for message in messages {
                outcomes.push(alone(state, message).await);
            }
            outcomes
        }
    }
}

async fn alone(state: &AppState, message: &Message) -> Outcome {
    match attempt(state, std::slice::from_ref(message)).await {
        Ok(outcomes) => outcomes.first().copied().unwrap_or(Outcome::Refused(Code::Malformed)),
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "a message cannot be stored");
            if let Err(error) = repeated(state, Work::Refuse(message)).await {
                tracing::error!(error = format!("{error:#}"), "a message is dropped");
            }
            Outcome::Refused(Code::Malformed)
        }
    }
}

async fn attempt(state: &AppState, messages: &[Message]) -> Result<Vec<Outcome>, Error> {
    repeated(state, Work::Take(messages)).await
}

/// What a transaction of the intake does.
#[derive(Clone, Copy)]
enum Work<'a> {
    Take(&'a [Message]),
    /// Records a message that cannot be stored in any other way, as nobody's.
    Refuse(&'a Message),
}

impl Work<'_> {
    async fn run(self, state: &AppState) -> Result<Vec<Outcome>, Error> {
        if let Self::Take(messages) = self {
            confirm_uploads(state, messages).await?;
        }
        let mut tx = state.db.worker().await?;
        let Taken { outcomes, recorded } = match self {
            Self::Take(messages) => take(state, &mut tx, messages).await?,
            Self::Refuse(message) => {
                let refusal = Refusal::new(Code::Malformed, "the message cannot be stored");
                let (properties, body) = (Properties::default(), message.body.clone());
                let message = Message { properties, body, fault: None };
                let recorded = refuse(&mut tx, &[(None, &message, &refusal)]).await?;
                Taken { outcomes: Vec::new(), recorded }
            }
        };
        // here, as the role of a tenant's replay deletes none
        for tenant in recorded {
            store::trim_dead(&mut tx, tenant).await?;
        }
        tx.commit().await?;
        Ok(outcomes)
    }
}

/// Notes which uploads that messages name have their contents in the bucket: before the transaction, as the storage service
/// is asked. If it does not answer, their jobs are refused as if they had none.
async fn confirm_uploads(state: &AppState, messages: &[Message]) -> Result<(), Error> {
    let prefix = format!("{}_", UploadId::PREFIX);
    let names_uploads =
        |message: &&Message| message.body.windows(prefix.len()).any(|part| part == prefix.as_bytes());
    let messages: Vec<&Message> =
        messages.iter().filter(|message| message.fault.is_none()).filter(names_uploads).collect();
    let named: Vec<_> = messages.iter().filter_map(|message| credential(message)).collect();
    if named.is_empty() {
        return Ok(());
    }
    let mut tx = state.db.worker().await?;
    let known = store::credentials(&mut tx, &named).await?;
    drop(tx);
    for message in messages {
        let Some(tenant) = credential(message).and_then(|id| Some(known.get(&id)?.tenant)) else { continue };
        let Ok(job) = model::read(message, tenant) else { continue };
        match job::confirm_inputs(state, tenant, &[job]).await {
            Err(error @ Error::Database(_)) => return Err(error),
            Err(error) => {
                tracing::warn!(tenant.id = %tenant, error = format!("{error:#}"), "uploads cannot be looked for");
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

/// The credential that a message names.
fn credential(message: &Message) -> Option<MqCredentialId> {
    message.properties.user_id.as_ref()?.parse().ok()
}

/// Runs a transaction until Postgres has committed it.
///
/// # Errors
/// Those that a repetition does not change.
async fn repeated(state: &AppState, work: Work<'_>) -> Result<Vec<Outcome>, Error> {
    let mut pause = PAUSES.0;
    loop {
        match work.run(state).await {
            Err(Error::Database(error)) if !is_of_content(&error) => {
                tracing::warn!(error = format!("{error:#}"), "messages wait for the database");
                sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            }
            settled => return settled,
        }
    }
}

/// Whether the statement fails each time: data that Postgres does not store.
fn is_of_content(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => error
            .code()
            .is_some_and(|code| ["22", "23", "42", "54"].iter().any(|class| code.starts_with(class))),
        sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => true,
        _ => false,
    }
}

/// A refused message: its credential, if it has a valid one.
type Refused<'a> = (Option<(MqCredentialId, TenantId)>, &'a Message, &'a Refusal);

/// What became of messages that were taken in.
pub(super) struct Taken {
    /// One for each.
    pub(super) outcomes: Vec<Outcome>,
    /// Whose messages were recorded as refused.
    recorded: BTreeSet<Option<TenantId>>,
}

/// Takes messages in: submits jobs, records what is refused, and has both answered.
pub(super) async fn take(
    state: &AppState,
    conn: &mut PgConnection,
    messages: &[Message],
) -> Result<Taken, Error> {
    let named: Vec<Option<MqCredentialId>> = messages.iter().map(credential).collect();
    let known = store::credentials(conn, &named.iter().flatten().copied().collect::<Vec<_>>()).await?;
    let mut outcomes = vec![Outcome::Accepted; messages.len()];
    let mut refusals: Vec<(usize, Refusal)> = Vec::new();
    // in the order of tenants, so that two replicas lock them in the same order
    let mut orders: BTreeMap<TenantId, Vec<(usize, NewJob)>> = BTreeMap::new();
    for (n, message) in messages.iter().enumerate() {
        let credential = named[n].and_then(|id| known.get(&id));
        let order = match (credential, &message.fault) {
            (None, _) => Err(unauthenticated("user_id is not a credential of a tenant")),
            (Some(credential), _) if credential.is_deleted => {
                Err(unauthenticated("the credential was deleted"))
            }
            (Some(_), Some(fault)) => Err(fault.clone()),
            (Some(credential), None) => {
                model::read(message, credential.tenant).map(|job| (credential.tenant, job))
            }
        };
        match order {
            Ok((tenant, job)) => orders.entry(tenant).or_default().push((n, job)),
            Err(refusal) => refusals.push((n, refusal)),
        }
    }
    for (tenant, orders) in orders {
        let (places, jobs): (Vec<usize>, Vec<NewJob>) = orders.into_iter().unzip();
        let mut repeated = Vec::new();
        for (n, result) in places.into_iter().zip(submit(state, conn, tenant, &jobs).await?) {
            match result {
                Ok(Submitted::New(_)) => {}
                Ok(Submitted::Known(id)) => {
                    outcomes[n] = Outcome::Duplicate;
                    repeated.push(id);
                }
                Err(refusal) => refusals.push((n, refusal)),
            }
        }
        if !repeated.is_empty() {
            outbox::again(conn, tenant, &repeated).await?;
        }
    }
    for (n, refusal) in &refusals {
        outcomes[*n] = Outcome::Refused(refusal.code);
    }
    let refused: Vec<Refused<'_>> = refusals
        .iter()
        .map(|(n, refusal)| {
            let credential =
                named[*n].and_then(|id| known.get(&id).map(|credential| (id, credential.tenant)));
            (credential, &messages[*n], refusal)
        })
        .collect();
    let recorded = refuse(conn, &refused).await?;
    Ok(Taken { outcomes, recorded })
}

fn unauthenticated(detail: &str) -> Refusal {
    Refusal::new(Code::Unauthenticated, detail)
}

/// Submits jobs of a tenant. If it can submit none, nothing of it stays in the transaction.
async fn submit(
    state: &AppState,
    conn: &mut PgConnection,
    tenant: TenantId,
    jobs: &[NewJob],
) -> Result<Vec<Result<Submitted, Refusal>>, Error> {
    let mut savepoint = conn.begin().await?;
    let all: Vec<&NewJob> = jobs.iter().collect();
    match job::submit_all(&mut savepoint, &state.open_jobs, tenant, &all, (state.clock)()).await {
        Ok(results) => {
            savepoint.commit().await?;
            let of_message = |result: Result<_, Error>| match result {
                Ok(submitted) => Ok(Ok(submitted)),
                Err(error) => Refusal::of(error).map(Err),
            };
            results.into_iter().map(of_message).collect()
        }
        Err(error) => {
            let refusal = Refusal::of(error)?;
            savepoint.rollback().await?;
            Ok(jobs.iter().map(|_| Err(refusal.clone())).collect())
        }
    }
}

/// Records messages as refused, and answers those of tenants. One that had no room is the publisher's to send again: only
/// answered, so that a flood is not stored. Returns whose messages were recorded.
async fn refuse(
    conn: &mut PgConnection,
    refused: &[Refused<'_>],
) -> sqlx::Result<BTreeSet<Option<TenantId>>> {
    let mut recorded = BTreeSet::new();
    for (credential, message, refusal) in refused {
        let req_no = model::any_req_no(message);
        if refusal.code != Code::TooManyJobs {
            let id = DeadMessageId::new();
            let dead = store::NewDead { id, credential: *credential, message, req_no, refusal };
            store::insert_dead(conn, &dead).await?;
            recorded.insert(credential.map(|(_, tenant)| tenant));
        }
        if let Some((_, tenant)) = credential {
            outbox::refused(conn, *tenant, req_no, refusal).await?;
        }
    }
    Ok(recorded)
}
