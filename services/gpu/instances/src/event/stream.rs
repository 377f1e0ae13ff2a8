//! A tenant's log as server-sent events.
//!
//! A stream reads the log up to its end, then gets new events from the [`Hub`](super::Hub), and reads the log again
//! whenever it has missed some.

use std::sync::Arc;

use api::{Problem, ProblemType};
use auth::Member;
use axum::response::Response;
use events::{End, Source, Start, Stream, message};
use ids::TenantId;
use service::{EventSender, event_stream};

use super::{
    Parts,
    hub::{Missed, Subscription},
    store::{self, Extent, Filter, Recorded},
};
use crate::streams::StreamKind;

/// Events read at a time.
const PAGE: i64 = 100;

/// Returns the sequence number after which a stream begins.
fn position(start: &Start<i64>, log: Extent) -> Result<i64, Problem> {
    match start {
        Start::Oldest => Ok(log.deleted_to),
        Start::Latest => Ok(log.newest),
        Start::After(sequence) if log.is_complete_after(*sequence) => Ok(*sequence),
        Start::After(_) => {
            let Extent { deleted_to: oldest, newest } = log;
            let detail = format!("The log has the events after {oldest}, up to {newest}.");
            Err(Problem::new(ProblemType::EventsDeleted, detail)
                .with("oldest", oldest)
                .with("newest", newest))
        }
    }
}

/// Answers with the events that match, from `start` on, until the client's rights end.
pub(super) async fn open(
    app: &Parts,
    member: &Member,
    filter: Filter,
    start: Start<i64>,
) -> Result<Response, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let log = store::extent(&mut tx, member.tenant).await?;
    drop(tx);
    let position = position(&start, log)?;
    let open = app.streams.open(member.tenant, StreamKind::Events)?;
    let (out, response) = event_stream(app.streams.config.slow_reader());
    let follower = Follower {
        events: app.hub.subscribe(member.tenant),
        app: app.clone(),
        tenant: member.tenant,
        filter,
        position,
        told: position,
        next: Err(Missed),
    };
    let heartbeat = app.streams.config.heartbeat();
    Stream { out, heartbeat }.run(open, app.streams.rights_end(member, true), follower);
    Ok(response)
}

struct Follower {
    app: Parts,
    events: Subscription,
    tenant: TenantId,
    filter: Filter,
    /// All matching events up to this sequence number were sent.
    position: i64,
    /// The last sequence number that was sent to the client.
    told: i64,
    /// The last result from the hub.
    next: Result<Arc<Recorded>, Missed>,
}

impl Source for Follower {
    fn begin(&mut self) -> Option<String> {
        Some(self.position.to_string())
    }

    async fn send(&mut self, out: &EventSender) -> Result<bool, End> {
        match std::mem::replace(&mut self.next, Err(Missed)) {
            Ok(event) if event.sequence <= self.position => Ok(false),
            Ok(event) if event.sequence == self.position + 1 => {
                self.position = event.sequence;
                let is_sent = self.filter.matches(&event);
                if is_sent {
                    self.send_event(out, &event).await?;
                }
                Ok(is_sent)
            }
            // the stream begins, lags behind, or began behind the other streams
            _ => {
                let told = self.told;
                while self.send_page(out).await? {}
                self.events.at_end(self.position);
                Ok(self.told != told)
            }
        }
    }

    async fn changed(&mut self) -> Result<(), End> {
        self.next = self.events.next().await;
        Ok(())
    }

    /// Reports how far the log was followed, even if no event matches.
    fn idle(&mut self) -> Option<String> {
        let told = std::mem::replace(&mut self.told, self.position);
        (told != self.position).then(|| self.position.to_string())
    }
}

impl Follower {
    /// Sends the next events of the log. Returns whether there may be more.
    async fn send_page(&mut self, out: &EventSender) -> Result<bool, End> {
        let (log, events) = self.read_page().await.map_err(|error| {
            tracing::warn!(tenant.id = %self.tenant, error = %api::ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        if !log.is_complete_after(self.position) {
            return Err(End::Because("the events that follow were deleted"));
        }
        let is_last = events.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
        for event in &events {
            self.position = event.sequence;
            self.send_event(out, event).await?;
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

    async fn send_event(&mut self, out: &EventSender, event: &Recorded) -> Result<(), End> {
        self.told = event.sequence;
        Ok(out.send(message(Some(&event.sequence), &event.kind, &event.view())).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_begins_where_the_log_is_complete() {
        let log = Extent { newest: 9, deleted_to: 4 };
        let position = |start| super::position(&start, log).ok();
        assert_eq!(position(Start::Oldest), Some(4));
        assert_eq!(position(Start::Latest), Some(9));
        assert_eq!([3, 4, 9, 10].map(|n| position(Start::After(n))), [None, Some(4), Some(9), None]);
        assert_eq!(super::position(&Start::After(0), Extent::default()).ok(), Some(0));
    }
}
