//! The events of all jobs of a tenant as server-sent events.

use api::{ErrorChain, Problem};
use auth::{HasAuth as _, Member, RightsEnd, rights_end};
use axum::response::Response;
use feed::{Cursor, Page};
use ids::TenantId;
use service::{
    EventSender, event_stream,
    streams::{Disconnected, Open},
};
use tokio::time::{Instant, timeout_at};

use super::{
    hub::Subscription,
    model::JobEvent,
    store::{self, EVENTS, Filter},
    stream::{RETRY_MS, message},
};
use crate::state::AppState;

/// Where a stream begins.
pub(super) enum Start {
    /// With the oldest event that is kept.
    Oldest,
    /// With the next event.
    Latest,
    /// After this position.
    After(Cursor),
}

/// How a stream ends.
enum End {
    Rights(RightsEnd),
    Unavailable,
    /// The client is gone, or takes nothing: it gets no comment.
    Disconnected,
}

impl From<Disconnected> for End {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

impl End {
    fn comment(&self) -> Option<&'static str> {
        match self {
            Self::Rights(end) => Some(end.comment()),
            Self::Unavailable => Some("the database does not answer; connect again"),
            Self::Disconnected => None,
        }
    }
}

/// Answers with the events that match, from `start` on, until the client's rights end.
pub(super) async fn open(
    state: &AppState,
    member: &Member,
    filter: Filter,
    start: Start,
) -> Result<Response, Problem> {
    let limits = state.config.streams;
    let open = state.streams.open(member.tenant, limits.per_tenant)?;
    let mut tx = state.db.tenant(member.tenant).await?;
    let position = match start {
        Start::Oldest => EVENTS.resume(&mut tx, Cursor::default()).await?,
        Start::Latest => EVENTS.end(&mut tx).await?,
        Start::After(position) => EVENTS.resume(&mut tx, position).await?,
    };
    drop(tx);
    let (out, response) = event_stream(limits.slow_reader());
    let rights =
        rights_end(&state.auth().verifier, &member.principal, state.stop.clone(), (state.clock)(), true);
    let changes = state.hub.subscribe(member.tenant);
    let follower = Follower {
        state: state.clone(),
        changes,
        tenant: member.tenant,
        filter,
        position,
        is_told: false,
        out,
    };
    tokio::spawn(follower.run(rights, open));
    Ok(response)
}

struct Follower {
    state: AppState,
    changes: Subscription,
    tenant: TenantId,
    filter: Filter,
    /// All matching events up to this position were sent.
    position: Cursor,
    /// The client knows a position after which nothing but events that do not match was read.
    is_told: bool,
    out: EventSender,
}

impl Follower {
    async fn run(mut self, rights: impl Future<Output = RightsEnd>, open: Open<TenantId>) {
        let out = self.out.clone();
        let end = tokio::select! {
            biased;
            end = rights => End::Rights(end),
            () = out.closed() => End::Disconnected,
            end = self.follow() => end,
        };
        if let Some(comment) = end.comment() {
            out.close(comment);
        }
        drop(open);
    }

    async fn follow(&mut self) -> End {
        let begin = match self.position.to_string() {
            beginning if beginning.is_empty() => format!("retry: {RETRY_MS}\n\n"),
            position => format!("retry: {RETRY_MS}\nid: {position}\n\n"),
        };
        if self.out.send(begin).await.is_err() {
            return End::Disconnected;
        }
        self.is_told = true;
        loop {
            if let Err(end) = self.send_changes().await {
                return end;
            }
        }
    }

    /// Sends the events that have come, then waits for the next.
    async fn send_changes(&mut self) -> Result<(), End> {
        self.changes.mark_read();
        while self.send_page().await? {}
        loop {
            let heartbeat = Instant::now() + self.state.config.streams.heartbeat();
            match timeout_at(heartbeat, self.changes.changed()).await {
                Ok(()) => return Ok(()),
                Err(_) => self.send_heartbeat().await?,
            }
        }
    }

    /// Sends the next events. Returns whether there may be more.
    async fn send_page(&mut self) -> Result<bool, End> {
        let page = self.read().await.map_err(|error| {
            tracing::warn!(tenant.id = %self.tenant, error = %ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        for (position, item) in page.items {
            let event = item.change;
            self.is_told = self.filter.matches(&event);
            if self.is_told {
                self.out.send(message(Some(&position), event.kind.as_str(), &event)).await?;
            }
        }
        self.position = page.next;
        Ok(!page.complete)
    }

    async fn read(&self) -> sqlx::Result<Page<JobEvent>> {
        let mut tx = self.state.db.tenant(self.tenant).await?;
        store::follow(&mut tx, EVENTS, &self.position).await
    }

    /// A sign of life. It tells how far a filtered stream was read.
    async fn send_heartbeat(&mut self) -> Result<(), End> {
        let id = if self.is_told { String::new() } else { format!("id: {}\n", self.position) };
        self.is_told = true;
        Ok(self.out.send(format!(":\n{id}\n")).await?)
    }
}
