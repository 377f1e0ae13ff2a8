//! The events of a job as server-sent events: those that are stored, then those that follow, with the progress between them.

use std::fmt::Display;

use api::{ErrorChain, Problem};
use auth::{HasAuth as _, Member, RightsEnd, rights_end};
use axum::response::Response;
use ids::{JobId, TenantId};
use serde::Serialize;
use serde_json::json;
use service::{
    EventSender, event_stream,
    streams::{Disconnected, Open},
};
use tokio::time::{Instant, timeout_at};

use super::{store, watch::Subscription};
use crate::{attempt::Report, state::AppState};

/// Events that are read at a time.
const PAGE: i64 = 100;
/// Milliseconds after which a client connects again.
pub(super) const RETRY_MS: u32 = 1000;

/// Why a stream ends.
enum End {
    /// The last event was sent.
    Complete,
    Rights(RightsEnd),
    Deleted,
    Unavailable,
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
            Self::Complete => Some("the job has ended"),
            Self::Rights(end) => Some(end.comment()),
            Self::Deleted => Some("the job was deleted"),
            Self::Unavailable => Some("the database does not answer; connect again"),
            Self::Disconnected => None,
        }
    }
}

/// Answers with the events of a job of the caller's tenant that come after `position`.
pub(super) fn open(
    state: &AppState,
    member: &Member,
    job: JobId,
    position: i64,
) -> Result<Response, Problem> {
    let limits = state.config.streams;
    let open = state.streams.open(member.tenant, limits.per_tenant)?;
    let (out, response) = event_stream(limits.slow_reader());
    let verifier = &state.auth().verifier;
    let rights = rights_end(verifier, &member.principal, state.stop.clone(), (state.clock)(), true);
    let changes = state.watches.subscribe(job);
    let follower =
        Follower { state: state.clone(), changes, tenant: member.tenant, job, position, told: None, out };
    tokio::spawn(follower.run(rights, open));
    Ok(response)
}

struct Follower {
    state: AppState,
    changes: Subscription,
    tenant: TenantId,
    job: JobId,
    /// All events up to this one were sent.
    position: i64,
    /// The report that was sent last.
    told: Option<Report>,
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
        if self.out.send(format!("retry: {RETRY_MS}\n\n")).await.is_err() {
            return End::Disconnected;
        }
        loop {
            if let Err(end) = self.send_changes().await {
                return end;
            }
        }
    }

    /// Sends what has changed, then waits for the next change.
    async fn send_changes(&mut self) -> Result<(), End> {
        let seen = self.changes.seen();
        while self.send_page().await? {}
        // what was seen may belong to an attempt that has ended since
        if seen.generation == self.position
            && let Some(report) = seen.progress.filter(|report| self.is_news(report))
        {
            self.out.send(message(None, "job.progress", &report.progress)).await?;
            self.told = Some(report);
        }
        loop {
            let heartbeat = Instant::now() + self.state.config.streams.heartbeat();
            match timeout_at(heartbeat, self.changes.changed()).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(End::Deleted),
                Err(_) => self.out.send(":\n\n".to_owned()).await?,
            }
        }
    }

    /// Whether a report follows the one that was sent last: an older one is found when the cache has lost the newest.
    fn is_news(&self, report: &Report) -> bool {
        self.told.as_ref().is_none_or(|told| told.at < report.at && told.progress != report.progress)
    }

    /// Sends the next events. Returns whether there may be more.
    async fn send_page(&mut self) -> Result<bool, End> {
        let read = async {
            let mut tx = self.state.db.tenant(self.tenant).await?;
            store::read(&mut tx, self.tenant, self.job, self.position, PAGE).await
        };
        let events = read.await.map_err(|error| {
            tracing::warn!(job.id = %self.job, error = %ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        for event in &events {
            self.position = event.sequence;
            self.out.send(message(Some(&event.sequence), event.kind.as_str(), event)).await?;
            if event.kind.is_last() {
                return Err(End::Complete);
            }
        }
        Ok(events.len() == usize::try_from(PAGE).unwrap_or(usize::MAX))
    }
}

/// A server-sent event. JSON has no line breaks.
pub(super) fn message(id: Option<&dyn Display>, kind: &str, data: &impl Serialize) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {}\n\n", json!(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_type_and_one_line_of_data() {
        let text = message(Some(&7), "job.failed", &json!({ "message": "a\nb" }));
        assert_eq!(text, "id: 7\nevent: job.failed\ndata: {\"message\":\"a\\nb\"}\n\n");
        assert!(message(None, "job.progress", &json!(1)).starts_with("event: "));
    }
}
