//! The events of all jobs of a tenant as server-sent events.

use api::{ErrorChain, Problem};
use auth::{Member, rights_end};
use axum::response::Response;
use events::{End, Source, Start, Stream, Subscription, message};
use feed::{Cursor, Page};
use ids::TenantId;
use jobs_core::event::JobEvent;
use serde_json::json;
use service::{EventSender, event_stream};

use super::{
    Parts,
    store::{self, EVENTS, Filter},
};

/// Answers with the events that match, from `start` on, until the client's rights end.
pub(super) async fn open(
    parts: &Parts,
    member: &Member,
    filter: Filter,
    start: Start<Cursor>,
) -> Result<Response, Problem> {
    let limits = parts.config;
    let open = parts.streams.open(member.tenant, limits.per_tenant)?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let position = match start {
        Start::Oldest => EVENTS.resume(&mut tx, Cursor::default()).await?,
        Start::Latest => EVENTS.end(&mut tx).await?,
        Start::After(position) => EVENTS.resume(&mut tx, position).await?,
    };
    drop(tx);
    let (out, response) = event_stream(limits.slow_reader());
    let rights = rights_end(&parts.verifier, &member.principal, parts.stop.clone(), (parts.clock)(), true);
    let changes = parts.hub.subscribe(member.tenant);
    let follower =
        Follower { parts: parts.clone(), changes, tenant: member.tenant, filter, position, is_told: true };
    Stream { out, heartbeat: limits.heartbeat() }.run(open, rights, follower);
    Ok(response)
}

struct Follower {
    parts: Parts,
    changes: Subscription<TenantId>,
    tenant: TenantId,
    filter: Filter,
    /// All matching events up to this position were sent.
    position: Cursor,
    /// Whether the client knows a position after which only events that do not match were read.
    is_told: bool,
}

impl Source for Follower {
    fn begin(&mut self) -> Option<String> {
        Some(self.position.to_string()).filter(|position| !position.is_empty())
    }

    async fn send(&mut self, out: &EventSender) -> Result<bool, End> {
        self.changes.seen();
        let mut is_sent = false;
        while self.send_page(out, &mut is_sent).await? {}
        Ok(is_sent)
    }

    async fn changed(&mut self) -> Result<(), End> {
        self.changes.changed().await;
        Ok(())
    }

    fn idle(&mut self) -> Option<String> {
        let is_told = std::mem::replace(&mut self.is_told, true);
        (!is_told).then(|| self.position.to_string())
    }
}

impl Follower {
    /// Sends the next events. Returns whether there may be more.
    async fn send_page(&mut self, out: &EventSender, is_sent: &mut bool) -> Result<bool, End> {
        let page = self.read().await.map_err(|error| {
            tracing::warn!(tenant.id = %self.tenant, error = %ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        for (position, item) in page.items {
            let event = item.change;
            self.is_told = self.filter.matches(&event);
            if self.is_told {
                out.send(message(Some(&position), event.kind.as_str(), &json!(event))).await?;
                *is_sent = true;
            }
        }
        self.position = page.next;
        Ok(!page.complete)
    }

    async fn read(&self) -> sqlx::Result<Page<JobEvent>> {
        let mut tx = self.parts.db.tenant(self.tenant).await?;
        store::follow(&mut tx, EVENTS, &self.position).await
    }
}
