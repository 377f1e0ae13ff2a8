//! One stream.

use std::{collections::HashSet, time::Duration};

use api::ErrorChain;
use auth::RightsEnd;
use db::Db;
use feed::{Outbox, Page};
use serde_json::Value;
use service::{EventSender, streams::Disconnected};
use tokio::time::{Instant, timeout_at};

use crate::{Reader, hub::Subscription, now, position::Position};

/// Milliseconds after which a client connects again.
const RETRY_MS: u32 = 1000;
/// Interval of the comments that keep an idle stream open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events that are read at a time.
const PAGE: u32 = 200;

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

pub(crate) struct Follower {
    pub(crate) db: Db,
    pub(crate) reader: Reader,
    pub(crate) outbox: Outbox,
    pub(crate) changes: Subscription,
    /// All events up to this position were sent.
    pub(crate) position: Position,
    pub(crate) out: EventSender,
}

impl Follower {
    pub(crate) async fn run(mut self, rights: impl Future<Output = RightsEnd>) {
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
    }

    async fn follow(&mut self) -> End {
        if self.out.send(format!("retry: {RETRY_MS}\nid: {}\n\n", self.position)).await.is_err() {
            return End::Disconnected;
        }
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
            let heartbeat = Instant::now() + HEARTBEAT;
            if timeout_at(heartbeat, self.changes.changed()).await.is_ok() {
                return Ok(());
            }
            // there was nothing until now
            self.position.at = now().as_second();
            self.out.send(format!(":\nid: {}\n\n", self.position)).await?;
        }
    }

    /// Sends the next events, those that say the same only once. Returns whether there may be more.
    async fn send_page(&mut self) -> Result<bool, End> {
        let at = now().as_second();
        let page = self.read().await.map_err(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        let mut sent = HashSet::new();
        for (cursor, item) in page.items {
            let event = item.change;
            let data = event.to_string();
            let kind = event["type"].as_str().unwrap_or_default();
            if !sent.contains(&data) {
                let position = Position { at: self.position.at, cursor };
                self.out.send(format!("id: {position}\nevent: {kind}\ndata: {data}\n\n")).await?;
                sent.insert(data);
            }
        }
        self.position.cursor = page.next;
        if page.complete {
            self.position.at = at;
        }
        Ok(!page.complete)
    }

    async fn read(&self) -> sqlx::Result<Page<Value>> {
        let mut tx = self.reader.begin(&self.db).await?;
        self.outbox.page(&mut tx, &self.position.cursor, PAGE).await
    }
}
