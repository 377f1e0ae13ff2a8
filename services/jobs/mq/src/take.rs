//! Takes in messages: a transaction submits the jobs of a batch, records refused messages, and has both
//! answered.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Display,
    time::Duration,
};

use ids::{DeadMessageId, MqCredentialId, TenantId, UploadId};
use jobs_core::refusal::{Code, Refusal};
use records::outbox;
use results::artifact;
use sqlx::{Connection as _, PgConnection};
use submission::{NewJob, Submitted};
use tokio::time::{Instant, sleep};

use super::{
    Parts,
    lanes::{Excess, Owner},
    message::{Message, Properties},
    model, store,
};

/// Pauses before a transaction is repeated while Postgres does not answer: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// The outcome of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Accepted,
    /// Its job existed already.
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

/// Stores each message exactly once; waits while Postgres is unavailable. A message that Postgres does not store is
/// refused alone, and does not block the others.
pub(super) async fn settle(parts: &Parts, messages: &[Message]) -> Vec<Outcome> {
    match attempt(parts, messages).await {
        Ok(outcomes) => outcomes,
        Err(error) => {
            tracing::error!(
                error = format!("{error:#}"),
                messages = messages.len(),
                "not stored: one by one"
            );
            let mut outcomes = Vec::with_capacity(messages.len());
            for message in messages {
                outcomes.push(alone(parts, message).await);
            }
            outcomes
        }
    }
}

async fn alone(parts: &Parts, message: &Message) -> Outcome {
    match attempt(parts, std::slice::from_ref(message)).await {
        Ok(outcomes) => outcomes.first().copied().unwrap_or(Outcome::Refused(Code::Malformed)),
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "a message cannot be stored");
            if let Err(error) = repeated(parts, Work::Refuse(message)).await {
                tracing::error!(error = format!("{error:#}"), "a message is dropped");
            }
            Outcome::Refused(Code::Malformed)
        }
    }
}

async fn attempt(parts: &Parts, messages: &[Message]) -> sqlx::Result<Vec<Outcome>> {
    repeated(parts, Work::Take(messages)).await
}

/// The work of a transaction of the intake.
#[derive(Clone, Copy)]
enum Work<'a> {
    Take(&'a [Message]),
    /// Refuses a message that cannot be stored, without its contents.
    Refuse(&'a Message),
}

impl Work<'_> {
    async fn run(self, parts: &Parts) -> sqlx::Result<Vec<Outcome>> {
        let mut tx = parts.db.worker().await?;
        let Taken { outcomes, recorded } = match self {
            Self::Take(messages) => take(parts, &mut tx, messages).await?,
            Self::Refuse(message) => {
                let refusal = Refusal::new(Code::Malformed, "the message cannot be stored");
                let req_no = model::any_req_no(message);
                let correlation_id = req_no.map(|req_no| req_no.to_string());
                let properties = Properties { correlation_id, ..Properties::default() };
                let sender = match credential(message) {
                    Some(id) => {
                        store::credentials(&mut tx, &[id]).await?.get(&id).map(|known| (id, known.tenant))
                    }
                    None => None,
                };
                let message = Message { properties, body: message.body.clone(), fault: None };
                let recorded = refuse(parts, &mut tx, &[(sender, &message, &refusal)]).await?;
                Taken { outcomes: Vec::new(), recorded }
            }
        };
        // here, as the role of a tenant's replay may not delete
        for tenant in recorded {
            store::trim_dead(&mut tx, tenant).await?;
        }
        tx.commit().await?;
        Ok(outcomes)
    }
}

/// Whether a message may name uploads, which its job needs.
pub(super) fn names_uploads(message: &Message) -> bool {
    const PREFIX: &[u8] = UploadId::PREFIX.as_bytes();
    message.body.windows(PREFIX.len() + 1).any(|part| part.starts_with(PREFIX) && part.ends_with(b"_"))
}

/// Records which uploads named by messages of a tenant have their contents in the bucket, before the messages
/// are taken in. If the storage service does not answer, their jobs are refused like those of uploads without
/// contents.
pub(super) async fn confirm_uploads(
    parts: &Parts,
    tenant: TenantId,
    messages: impl Iterator<Item = &Message>,
) {
    let jobs: Vec<NewJob> = messages.filter_map(|message| model::read(message, tenant).ok()).collect();
    let mut pause = PAUSES.0;
    loop {
        match submission::confirm_inputs(&parts.artifact, tenant, &jobs).await {
            Err(error @ artifact::Error::Database(_)) => pause = wait(&error, pause).await,
            Err(error) => {
                tracing::warn!(tenant.id = %tenant, error = format!("{error:#}"), "uploads cannot be looked for");
                return;
            }
            Ok(()) => return,
        }
    }
}

/// The credential that a message names.
pub(super) fn credential(message: &Message) -> Option<MqCredentialId> {
    message.properties.user_id.as_ref()?.parse().ok()
}

/// Returns the tenant of messages; none if there is no such credential. Waits while Postgres is unavailable.
pub(super) async fn tenant(parts: &Parts, owner: Owner) -> Option<TenantId> {
    let credential = match owner {
        Owner::Tenant(tenant) => return Some(tenant),
        Owner::Credential(id) => id,
        Owner::Nobody => return None,
    };
    let look = async || {
        let mut tx = parts.db.worker().await?;
        store::credentials(&mut tx, &[credential]).await
    };
    let mut pause = PAUSES.0;
    loop {
        match look().await {
            Ok(known) => return known.get(&credential).map(|known| known.tenant),
            Err(error) => pause = wait(&error, pause).await,
        }
    }
}

/// Answers messages that did not fit; waits while Postgres is unavailable. They are not recorded, so that a
/// flood is not stored.
pub(super) async fn refuse_excess(parts: &Parts, excess: &[Excess]) {
    let refusal = Refusal::new(Code::TooManyMessages, "too many messages of the tenant wait to be taken in");
    let mut refused = Vec::with_capacity(excess.len());
    let mut owners = HashMap::new();
    for one in excess {
        let tenant = match owners.get(&one.owner) {
            Some(tenant) => *tenant,
            None => *owners.entry(one.owner).or_insert(tenant(parts, one.owner).await),
        };
        refused.extend(tenant.map(|tenant| (tenant, one.req_no, &refusal)));
    }
    let write = async || {
        let mut tx = parts.db.worker().await?;
        outbox::refused(&mut tx, &refused).await?;
        tx.commit().await
    };
    let mut pause = PAUSES.0;
    while let Err(error) = write().await {
        pause = wait(&error, pause).await;
    }
}

/// Waits before a transaction is tried again. Returns the next pause.
async fn wait(error: &impl Display, pause: Duration) -> Duration {
    tracing::warn!(error = format!("{error:#}"), "messages wait for the database");
    sleep(pause).await;
    (pause * 2).min(PAUSES.1)
}

/// Runs a transaction until Postgres has committed it.
///
/// # Errors
/// Errors that a repetition does not change.
async fn repeated(parts: &Parts, work: Work<'_>) -> sqlx::Result<Vec<Outcome>> {
    let mut pause = PAUSES.0;
    loop {
        match work.run(parts).await {
            Err(error) if !is_of_content(&error) => pause = wait(&error, pause).await,
            settled => return settled,
        }
    }
}

/// Whether the statement always fails: its data cannot be stored in Postgres.
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

/// The outcome of messages that were taken in.
pub(super) struct Taken {
    /// One for each message.
    pub(super) outcomes: Vec<Outcome>,
    /// The owners of messages that were recorded as refused.
    recorded: BTreeSet<Option<TenantId>>,
}

/// Takes in messages: submits jobs, records refused messages, and has both answered.
pub(super) async fn take(
    parts: &Parts,
    conn: &mut PgConnection,
    messages: &[Message],
) -> sqlx::Result<Taken> {
    let named: Vec<Option<MqCredentialId>> = messages.iter().map(credential).collect();
    let known = store::credentials(conn, &named.iter().flatten().copied().collect::<Vec<_>>()).await?;
    for (id, credential) in &known {
        parts.broker.tenants.insert(*id, credential.tenant);
    }
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
        for (n, result) in places.into_iter().zip(submit(parts, conn, tenant, &jobs).await?) {
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
    let recorded = refuse(parts, conn, &refused).await?;
    Ok(Taken { outcomes, recorded })
}

fn unauthenticated(detail: &str) -> Refusal {
    Refusal::new(Code::Unauthenticated, detail)
}

/// Submits jobs of a tenant. If it cannot submit any, all its changes are rolled back.
async fn submit(
    parts: &Parts,
    conn: &mut PgConnection,
    tenant: TenantId,
    jobs: &[NewJob],
) -> sqlx::Result<Vec<Result<Submitted, Refusal>>> {
    let mut savepoint = conn.begin().await?;
    let all: Vec<&NewJob> = jobs.iter().collect();
    match submission::submit_all(&mut savepoint, &parts.open_jobs, tenant, &all, (parts.clock)()).await {
        Ok(results) => {
            savepoint.commit().await?;
            Ok(results.into_iter().map(|result| result.map_err(model::refusal_of)).collect())
        }
        Err(tenants::Error::Suspended) => {
            savepoint.rollback().await?;
            Ok(jobs.iter().map(|_| Err(model::suspended())).collect())
        }
        Err(tenants::Error::Database(error)) => Err(error),
    }
}

/// Records messages as refused, and answers those of tenants. Messages that did not fit are left to the
/// publisher to send again, and only some messages of a flood are recorded, so that a flood is not stored.
/// Returns the tenants of recorded messages.
async fn refuse(
    parts: &Parts,
    conn: &mut PgConnection,
    refused: &[Refused<'_>],
) -> sqlx::Result<BTreeSet<Option<TenantId>>> {
    let (mut dead, mut answers) = (Vec::new(), Vec::new());
    let now = Instant::now();
    for (credential, message, refusal) in refused {
        let (req_no, tenant) = (model::any_req_no(message), credential.map(|(_, tenant)| tenant));
        if refusal.code != Code::TooManyJobs && parts.broker.records.take(tenant, now) {
            let id = DeadMessageId::new();
            dead.push(store::NewDead { id, credential: *credential, message, req_no, refusal });
        }
        if let Some(tenant) = tenant {
            answers.push((tenant, req_no, *refusal));
        }
    }
    store::insert_dead(conn, &dead).await?;
    outbox::refused(conn, &answers).await?;
    Ok(dead.iter().map(|dead| dead.credential.map(|(_, tenant)| tenant)).collect())
}
