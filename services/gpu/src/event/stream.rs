//! A tenant's log as server-sent events.
//!
//! A stream reads the log up to its end, then gets new events from the [`Hub`](super::Hub), and reads the log again
//! whenever it has missed some. It is a task of its own, with a bounded channel to the connection, so that it also ends
//! when the client takes nothing.

use api::Problem;
use auth::{Member, RightsEnd};
use axum::response::Response;
use ids::TenantId;
use serde_json::Value;
use service::{EventSender, event_stream, streams::Disconnected};
use tokio::time::{Instant, timeout_at};

use super::{
    hub::Subscription,
    store::{self, Extent, Filter, Recorded},
};
use crate::{
    error::Error,
    state::{AppState, OpenStream, StreamKind},
};

/// Events read at a time.
const PAGE: i64 = 100;
/// Milliseconds after which a client connects again.
const RETRY_MS: u32 = 1000;

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// With the oldest event that is kept.
    Oldest,
    /// With the next event.
    Latest,
    /// After this sequence number.
    After(i64),
}

impl Start {
    /// Returns the sequence number after which the stream begins.
    fn position(self, log: Extent) -> Result<i64, Error> {
        match self {
            Self::Oldest => Ok(log.deleted_to),
            Self::Latest => Ok(log.newest),
            Self::After(sequence) if log.is_complete_after(sequence) => Ok(sequence),
            Self::After(_) => Err(Error::EventsDeleted { oldest: log.deleted_to, newest: log.newest }),
        }
    }
}

/// How a stream ends, in the comment that is its last line.
#[derive(Debug, Clone, Copy)]
enum End {
    Rights(RightsEnd),
    EventsDeleted,
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
    fn comment(self) -> Option<&'static str> {
        match self {
            Self::Rights(end) => Some(end.comment()),
            Self::EventsDeleted => Some("the events that follow were deleted"),
            Self::Unavailable => Some("the database does not answer; connect again"),
            Self::Disconnected => None,
        }
    }
}

/// Answers with the events that match, from `start` on, until the client's rights end.
pub(super) async fn open(
    app: &AppState,
    member: &Member,
    filter: Filter,
    start: Start,
) -> Result<Response, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let log = store::extent(&mut tx, member.tenant).await?;
    drop(tx);
    let position = start.position(log)?;
    let open = app.open_stream(member.tenant, StreamKind::Events)?;
    let (out, response) = event_stream(app.config.streams.slow_reader());
    let follower = Follower {
        events: app.events.subscribe(member.tenant),
        app: app.clone(),
        tenant: member.tenant,
        filter,
        position,
        told: position,
        out,
    };
    tokio::spawn(follower.run(app.rights_end(member, true), open));
    Ok(response)
}

struct Follower {
    app: AppState,
    events: Subscription,
    tenant: TenantId,
    filter: Filter,
    /// All matching events up to this sequence number were sent.
    position: i64,
    /// The last sequence number that the client was told.
    told: i64,
    out: EventSender,
}

impl Follower {
    async fn run(mut self, rights_end: impl Future<Output = RightsEnd>, open: OpenStream) {
        let out = self.out.clone();
        let end = tokio::select! {
            biased;
            end = rights_end => End::Rights(end),
            () = out.closed() => End::Disconnected,
            end = self.follow() => end,
        };
        if let Some(comment) = end.comment() {
            out.close(comment);
        }
        drop(open);
    }

    async fn follow(&mut self) -> End {
        let begin = format!("retry: {RETRY_MS}\nid: {}\n\n", self.position);
        if let Err(end) = self.out.send(begin).await {
            return end.into();
        }
        loop {
            let caught_up = self.catch_up().await;
            let Err(end) = caught_up else { continue };
            return end;
        }
    }

    /// Sends the log up to its end, then new events until one is missed.
    async fn catch_up(&mut self) -> Result<(), End> {
        while self.send_page().await? {}
        self.events.at_end(self.position);
        let mut heartbeat = self.next_heartbeat();
        loop {
            match timeout_at(heartbeat, self.events.next()).await {
                Err(_) => {
                    self.send_heartbeat().await?;
                    heartbeat = self.next_heartbeat();
                }
                Ok(Ok(event)) if event.sequence <= self.position => {}
                Ok(Ok(event)) if event.sequence == self.position + 1 => {
                    self.position = event.sequence;
                    if self.filter.matches(&event) {
                        self.send_event(&event).await?;
                        heartbeat = self.next_heartbeat();
                    }
                }
                // the stream lags behind, or began behind what others know
                Ok(_) => return Ok(()),
            }
        }
    }

    /// Sends the next events of the log. Returns whether there may be more.
    async fn send_page(&mut self) -> Result<bool, End> {
        let (log, events) = self.read_page().await.map_err(|error| {
            tracing::warn!(tenant.id = %self.tenant, error = %api::ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        if !log.is_complete_after(self.position) {
            return Err(End::EventsDeleted);
        }
        let is_last = events.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
        for event in &events {
            self.position = event.sequence;
            self.send_event(event).await?;
        }
        if is_last {
            self.position = log.newest;
        }
        Ok(!is_last)
    }

    async fn read_page(&self) -> sqlx::Result<(Extent, Vec<Recorded>)> {
        let mut tx = self.app.db.tenant(self.tenant).await?;
        let log = store::extent(&mut tx, self.tenant).await?;
        let events =
            store::read(&mut tx, self.tenant, self.filter, (self.position, log.newest), PAGE).await?;
        Ok((log, events))
    }

    async fn send_event(&mut self, event: &Recorded) -> Result<(), End> {
        self.told = event.sequence;
        Ok(self.out.send(message(event.sequence, &event.kind, &event.view())).await?)
    }

    /// Tells how far the log was followed, also if no event matches.
    async fn send_heartbeat(&mut self) -> Result<(), End> {
        let id = if self.told == self.position { String::new() } else { format!("id: {}\n", self.position) };
        self.told = self.position;
        Ok(self.out.send(format!(":\n{id}\n")).await?)
    }

    fn next_heartbeat(&self) -> Instant {
        Instant::now() + self.app.config.streams.heartbeat()
    }
}

/// Returns an event as a server-sent event. JSON has no line breaks.
fn message(sequence: i64, kind: &str, event: &Value) -> String {
    format!("id: {sequence}\nevent: {kind}\ndata: {event}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_begins_where_the_log_is_complete() {
        let log = Extent { newest: 9, deleted_to: 4 };
        let position = |start: Start| start.position(log).ok();
        assert_eq!(position(Start::Oldest), Some(4));
        assert_eq!(position(Start::Latest), Some(9));
        assert_eq!([3, 4, 9, 10].map(|n| position(Start::After(n))), [None, Some(4), Some(9), None]);
        assert_eq!(Start::After(0).position(Extent::default()).ok(), Some(0));
    }

    #[test]
    fn a_message_has_id_type_and_one_line_of_data() {
        let text = message(7, "instance.started", &serde_json::json!({ "message": "a\nb" }));
        assert_eq!(text, "id: 7\nevent: instance.started\ndata: {\"message\":\"a\\nb\"}\n\n");
    }
}
