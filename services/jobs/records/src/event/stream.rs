//! The events of a job as server-sent events: those that are stored, then those that follow, with the progress between them.

use api::{ErrorChain, Problem};
use auth::{Member, rights_end};
use axum::response::Response;
use events::{End, Source, Stream, Subscription, message};
use ids::{JobId, TenantId};
use jobs_core::progress::Report;
use serde_json::json;
use service::{EventSender, event_stream};

use super::{Parts, store, watch::Seen};

/// Events that are read at a time.
const PAGE: i64 = 100;

/// Answers with the events of a job of the caller's tenant that come after `position`.
pub(super) fn open(parts: &Parts, member: &Member, job: JobId, position: i64) -> Result<Response, Problem> {
    let limits = parts.config;
    let open = parts.streams.open(member.tenant, limits.per_tenant)?;
    let (out, response) = event_stream(limits.slow_reader());
    let verifier = &parts.verifier;
    let rights = rights_end(verifier, &member.principal, parts.stop.clone(), (parts.clock)(), true);
    let changes = parts.watches.subscribe(job);
    let follower =
        Follower { parts: parts.clone(), changes, tenant: member.tenant, job, position, told: None };
    Stream { out, heartbeat: limits.heartbeat() }.run(open, rights, follower);
    Ok(response)
}

struct Follower {
    parts: Parts,
    changes: Subscription<JobId, Seen>,
    tenant: TenantId,
    job: JobId,
    /// All events up to this one were sent.
    position: i64,
    /// The report that was sent last.
    told: Option<Report>,
}

impl Source for Follower {
    fn begin(&mut self) -> Option<String> {
        None
    }

    async fn send(&mut self, out: &EventSender) -> Result<bool, End> {
        let (seen, before) = (self.changes.seen(), self.position);
        while self.send_page(out).await? {}
        // the report may belong to an attempt that has ended since
        if seen.generation == self.position
            && let Some(report) = seen.progress.filter(|report| self.is_news(report))
        {
            out.send(message(None, "job.progress", &json!(report.progress))).await?;
            self.told = Some(report);
            return Ok(true);
        }
        Ok(self.position != before)
    }

    async fn changed(&mut self) -> Result<(), End> {
        if self.changes.changed().await { Ok(()) } else { Err(End::Because("the job was deleted")) }
    }

    fn idle(&mut self) -> Option<String> {
        None
    }
}

impl Follower {
    /// Whether a report is newer than the one that was sent last: the cache may have lost the newest.
    fn is_news(&self, report: &Report) -> bool {
        self.told.as_ref().is_none_or(|told| told.at < report.at && told.progress != report.progress)
    }

    /// Sends the next events. Returns whether there may be more.
    async fn send_page(&mut self, out: &EventSender) -> Result<bool, End> {
        let read = async {
            let mut tx = self.parts.db.tenant(self.tenant).await?;
            store::read(&mut tx, self.tenant, self.job, self.position, PAGE).await
        };
        let events = read.await.map_err(|error| {
            tracing::warn!(job.id = %self.job, error = %ErrorChain(&error), "cannot read events");
            End::Unavailable
        })?;
        for event in &events {
            self.position = event.sequence;
            out.send(message(Some(&event.sequence), event.kind.as_str(), &json!(event))).await?;
            if event.kind.is_last() {
                return Err(End::Because("the job has ended"));
            }
        }
        Ok(events.len() == usize::try_from(PAGE).unwrap_or(usize::MAX))
    }
}
