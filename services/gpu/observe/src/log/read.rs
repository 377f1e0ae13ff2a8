//! Where the lines of a response come from: the archive, then the cluster, without a gap or a repetition between them.

use std::sync::Arc;

use api::ErrorChain;
use clusters::{Cluster, LogPart, PodError};
use futures::{StreamExt, stream::BoxStream};
use gpu_core::unit::PodRef;
use ids::{InstanceId, TenantId};
use memchr::memmem::Finder;
use serde_json::json;
use tokio::time::timeout_at;

use super::{
    Archive, Parts, chunk,
    collect::{continued, window},
    line::{Line, Position, Sequencer, Splitter},
    objects::ObjectError,
    output::{Disconnected, Output},
    store::{self, Log, TailStart},
};

/// Chunks of the index that are read at a time.
const PAGE: i64 = 50;

/// Which lines are sent.
pub(super) struct Selection {
    pub(super) tenant: TenantId,
    pub(super) instance: InstanceId,
    pub(super) attempt: i64,
    /// Only lines after this position.
    pub(super) start: Position,
    /// Only this many last lines.
    pub(super) tail: Option<i64>,
    /// Only lines that contain this.
    pub(super) search: Option<Finder<'static>>,
    /// Whether later lines come as well.
    pub(super) follow: bool,
}

/// The container that has later lines than the archive.
pub(super) struct Live {
    pub(super) cluster: Arc<Cluster>,
    pub(super) pod: PodRef,
    /// The end of what came from earlier pods.
    pub(super) floor: Position,
    /// Its log, once it is open.
    pub(super) opened: Option<BoxStream<'static, std::io::Result<Vec<u8>>>>,
}

/// Why a response ends before its last line.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("the client is gone")]
    Disconnected,
    #[error("the database does not answer")]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Objects(#[from] ObjectError),
    #[error("a chunk is damaged")]
    Chunk(#[source] std::io::Error),
    #[error(transparent)]
    Pod(#[from] PodError),
    #[error("the log broke off")]
    Live(#[source] std::io::Error),
}

impl From<Disconnected> for ReadError {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

/// A response that is being sent.
pub(super) struct Reader {
    pub(super) app: Parts,
    pub(super) selection: Selection,
    pub(super) archive: Option<Arc<Archive>>,
    pub(super) live: Option<Live>,
    /// The log as it is stored.
    pub(super) stored: Log,
    pub(super) output: Output,
    /// The last line that was sent or skipped.
    pub(super) sent: Position,
    /// Whether the attempt has a container.
    pub(super) is_live: bool,
}

impl Reader {
    /// Sends all lines of the selection.
    pub(super) async fn run(&mut self) -> Result<(), ReadError> {
        if let Some(archive) = self.archive.clone() {
            match self.send_archived(&archive).await {
                Err(error @ (ReadError::Objects(_) | ReadError::Chunk(_))) if self.live.is_some() => {
                    // the cluster has the newest lines, and usually all requested ones
                    tracing::warn!(
                        instance.id = %self.selection.instance, error = %ErrorChain(&error), "kept log not available"
                    );
                    self.output.event("gap", &json!({}));
                }
                sent => sent?,
            }
        }
        if self.live.as_ref().is_some_and(|live| live.opened.is_none()) {
            self.open().await?;
        }
        self.send_live().await?;
        self.output.flush().await?;
        Ok(())
    }

    async fn line(&mut self, line: &Line) -> Result<(), ReadError> {
        self.sent = line.at;
        let is_found = self.selection.search.as_ref().is_none_or(|text| text.find(&line.text).is_some());
        if is_found {
            self.output.line(line).await?;
        }
        Ok(())
    }

    async fn send_archived(&mut self, archive: &Archive) -> Result<(), ReadError> {
        let Selection { tenant, instance, attempt, start, tail, .. } = self.selection;
        let log = (instance, attempt);
        let mut from = TailStart { number: 0, skip: 0 };
        if let Some(lines) = tail {
            let mut tx = self.app.db.tenant(tenant).await?;
            from = store::tail_start(&mut tx, tenant, log, lines).await?.unwrap_or(from);
        }
        let mut number = (from.number - 1).max(0);
        loop {
            let mut tx = self.app.db.tenant(tenant).await?;
            let chunks = store::chunks(&mut tx, tenant, log, start, number, PAGE).await?;
            drop(tx);
            let Some(last) = chunks.last() else { return Ok(()) };
            number = last.number;
            for stored in &chunks {
                let bytes = archive.objects.get(&stored.object_key).await?;
                if stored.after_gap || bytes.is_none() {
                    self.output.event("gap", &json!({}));
                }
                // a missing chunk was deleted by retention since the index was read
                let Some(bytes) = bytes else { continue };
                let mut skip = if stored.number == from.number { from.skip } else { 0 };
                for line in chunk::lines(bytes, stored.first()) {
                    let line = line.map_err(ReadError::Chunk)?;
                    if skip > 0 {
                        skip -= 1;
                    } else if line.at > start {
                        self.line(&line).await?;
                    }
                }
                self.output.flush().await?;
            }
        }
    }

    /// Opens the log of the container after what was sent.
    pub(super) async fn open(&mut self) -> Result<(), PodError> {
        let Some(live) = &mut self.live else { return Ok(()) };
        let mut log = continued(self.stored.clone(), &live.pod);
        live.floor = log.floor;
        log.position = self.sent;
        let Selection { tail, follow, .. } = self.selection;
        let part = LogPart { since: window(&log), tail, follow, previous: false };
        live.opened = Some(live.cluster.log(&live.pod, &part).await?.boxed());
        Ok(())
    }

    async fn send_live(&mut self) -> Result<(), ReadError> {
        let Some(Live { floor, opened: Some(mut stream), .. }) = self.live.take() else { return Ok(()) };
        let (mut splitter, mut sequencer) = (Splitter::default(), Sequencer::after(floor));
        let after = self.sent;
        let heartbeat = self.app.streams.config.heartbeat();
        loop {
            let Ok(next) = timeout_at(self.output.last_sent() + heartbeat, stream.next()).await else {
                self.output.heartbeat().await?;
                continue;
            };
            let is_end = next.is_none();
            if let Some(bytes) = next {
                splitter.push(&bytes.map_err(ReadError::Live)?);
            }
            let rest = |splitter: &mut Splitter| if is_end { splitter.rest() } else { None };
            while let Some(stamped) = splitter.next().or_else(|| rest(&mut splitter)) {
                let at = sequencer.place(stamped.time);
                if at > after {
                    self.line(&Line { at, text: stamped.text, ends: stamped.ends }).await?;
                }
            }
            self.output.flush().await?;
            if is_end {
                return Ok(());
            }
        }
    }
}
