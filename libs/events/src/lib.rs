//! Streams of events, as server-sent events: where they start, how they stay open and end ([`Stream`]), and how one reader per replica
//! wakes all of them ([`Watched`]). And complete ones ([`Events`]) of an outbox ([`feed`]):
//!
//! Triggers write the events, in the transaction of the change. A payload is the event as it is shown: its `type` names
//! it, and an event of a tenant has a `tenant_id`. Row-level security decides what a reader sees. In addition to the
//! columns of an outbox, the table has those that its policies need.
//!
//! There are no notifications, because they would make commits wait for each other: while streams are open, each
//! replica reads twice a second which tenants have new events, whatever the number of streams.
//!
//! No event of a service may enter: its type and its payload are the service's.

mod follow;
mod hub;
mod position;
mod stream;
mod watched;

use std::{sync::Arc, time::Duration};

use api::{LastEventId, Operation, Problem, ProblemType};
use auth::{Principal, Verifier};
use axum::response::Response;
use db::{Db, Tx};
use feed::Outbox;
use ids::{TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use service::{Duty, Round, Streams, Task, event_stream};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};

use hub::Hub;
use position::{Position, position};
use stream::Follower;

pub use follow::{End, Source, Start, Stream, message};
pub use watched::{Subscription, Watched};

/// Streams of a tenant, or of a user without one, that are open at a time in one replica.
const STREAMS: u32 = 64;
/// Interval of the comments that keep an idle stream open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A client that reads nothing for this time is disconnected.
const SLOW_READER: Duration = Duration::from_secs(30);
/// How often old events are deleted.
const CLEAN_UP: Duration = Duration::from_secs(600);
/// Maximum number of events that are deleted in one transaction.
const CLEAN_UP_BATCH: u32 = 10_000;
/// A position expires this time before the events after it are deleted. Longer than any transaction, or difference of clocks.
const MARGIN: Duration = Duration::from_secs(3600);

/// Where a stream of events begins.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Start of the stream: after this `id` of a server-sent event, or `latest` for new events only. The header
    /// `Last-Event-ID` takes precedence. Without both, it starts with the oldest event that is kept.
    after: Option<String>,
}

/// An operation has begun, advanced or ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OperationChanged {
    /// When it was recorded.
    pub time: Timestamp,
    /// The operation at the time of the event.
    pub operation: Operation,
}

/// The reader of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A tenant, with the events that it may see.
    Tenant(TenantId),
    /// Everybody, with the events that everybody may see.
    Everybody,
    /// Administrators, with the events that they may see.
    Administrators,
}

impl Reader {
    async fn begin(self, db: &Db) -> sqlx::Result<Tx> {
        match self {
            Self::Tenant(tenant) => db.tenant(tenant).await,
            Self::Everybody => db.platform().await,
            Self::Administrators => db.admin().await,
        }
    }
}

/// The events of an outbox, in one process. Clones share them.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    db: Db,
    hub: Hub,
    streams: Streams<(Option<TenantId>, Option<UserId>)>,
    /// How long events are kept.
    kept: Duration,
}

impl Events {
    /// The events of the table `outbox`, which are deleted after `kept`.
    #[must_use]
    pub fn new(db: &Db, outbox: Outbox, kept: Duration) -> Self {
        let hub = Hub::new(db, outbox);
        Self(Arc::new(Inner { db: db.clone(), hub, streams: Streams::default(), kept }))
    }

    /// The tasks that wake streams, and delete old events.
    #[must_use]
    pub fn tasks(&self) -> [Task; 2] {
        [
            self.0.hub.task(),
            Task::every("events", Duty::Retention, CLEAN_UP, self, |events| async move {
                let mut tx = events.0.db.worker().await?;
                let deleted =
                    events.0.hub.outbox().delete_old(&mut tx, events.0.kept, CLEAN_UP_BATCH).await?;
                tx.commit().await?;
                Ok(Round::of(deleted, CLEAN_UP_BATCH.into()))
            }),
        ]
    }

    /// Streams the events of `view`, which shows rows of the outbox to the reader, until the rights of the caller end.
    ///
    /// # Errors
    /// `invalid-field` for a position that is none; `events-deleted` if events after it may have been deleted;
    /// `too-many-streams`.
    pub async fn stream(
        &self,
        verifier: &Verifier,
        caller: &Principal,
        stop: CancellationToken,
        (reader, view): (Reader, &'static str),
        (last, query): (LastEventId, StreamQuery),
    ) -> Result<Response, Problem> {
        let Inner { db, hub, streams, kept } = &*self.0;
        let expected = "must be the `id` of a server-sent event of this stream";
        let start = Start::of(last, query.after, Position::parse, expected)?;
        let tenant = caller.tenant.map(|(tenant, _)| tenant);
        let open = streams.open((tenant, tenant.is_none().then_some(caller.user)), STREAMS)?;
        // before the position is read: later events are changes
        let changes = hub.subscribe(match reader {
            Reader::Tenant(tenant) => Some(tenant),
            Reader::Everybody | Reader::Administrators => None,
        });
        let outbox = Outbox { table: view, ..hub.outbox() };
        let now = now();
        let mut tx = reader.begin(db).await?;
        let position = position(start, &mut tx, outbox, now, kept.saturating_sub(MARGIN)).await?;
        drop(tx);
        let position = position.ok_or_else(|| {
            Problem::new(ProblemType::EventsDeleted, "Events after this position may have been deleted.")
        })?;
        let (out, response) = event_stream(SLOW_READER);
        let follower = Follower { db: db.clone(), reader, outbox, changes, position };
        let rights_end = auth::rights_end(verifier, caller, stop, now, true);
        Stream { out, heartbeat: HEARTBEAT }.run(open, rights_end, follower);
        Ok(response)
    }
}

#[expect(clippy::disallowed_methods, reason = "how old a position is, and when the token expires")]
fn now() -> Timestamp {
    Timestamp::now()
}
