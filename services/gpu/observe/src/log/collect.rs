//! Collects the log of one attempt: reads what follows the last stored line, and stores it in chunks.
//!
//! A window of the log begins a second before the last stored line, so that this line is in it. If it is not,
//! either the container was restarted, and the rest of the previous container's log is read first; or the
//! cluster has deleted lines that were not read yet, and the next chunk records the gap.

use std::time::Duration;

use api::ErrorChain;
use clusters::{Cluster, Container, LogPart, PodError};
use futures::StreamExt;
use gpu_core::unit::PodRef;
use ids::InstanceId;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Archive,
    chunk::Builder,
    line::{Line, Position, Sequencer, Splitter, Stamped},
    objects::{self, ObjectError},
    store::{self, Log},
};

/// Bytes of text that are stored at once, whatever the time since the last chunk.
const ENOUGH: usize = 64 * 1024;
/// Time after the first new line of a followed log after which a chunk is stored, at least.
const MIN_HOLD: Duration = Duration::from_secs(1);
/// How long a log may be followed at a time.
const MAX_FOLLOW: Duration = Duration::from_secs(600);
/// How long a chunk waits for the object store, and the time between two attempts.
const STORE_WAIT: Duration = Duration::from_secs(60);
const STORE_RETRY: Duration = Duration::from_secs(1);

/// Why a log was not collected, or not to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum CollectError {
    #[error(transparent)]
    Pod(#[from] PodError),
    #[error("the log broke off")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Objects(#[from] ObjectError),
    #[error("the database does not answer")]
    Database(#[from] sqlx::Error),
    /// Another replica has stored a chunk meanwhile.
    #[error("another replica collects this log")]
    Overtaken,
    /// The instance is deleted: its log is not kept.
    #[error("the instance is deleted")]
    Deleted,
}

/// The log of one attempt, between two collections.
pub(super) struct Source {
    instance: InstanceId,
    attempt: i64,
    /// What is stored, and the lines that are not yet; none until the index is read, and after an error of
    /// the archive.
    batch: Option<Batch>,
}

/// Returns the time from which a window has all lines after a position and that line itself; none for the whole log.
/// The cluster compares full seconds.
pub(super) fn window(log: &Log) -> Option<Timestamp> {
    // lines of the present pod may be stamped earlier than those of the one before it, by another clock
    if log.position.time <= log.floor.time {
        return None;
    }
    log.position.timestamp().checked_sub(SignedDuration::from_secs(1)).ok()
}

/// Returns the log as it continues with a pod.
pub(super) fn continued(mut log: Log, pod: &PodRef) -> Log {
    if log.pod != pod.name() {
        log.floor = log.position;
        pod.name().clone_into(&mut log.pod);
    }
    log
}

/// What is stored of a log, and the lines that are not yet.
struct Batch {
    log: Log,
    builder: Builder,
    /// Lines may be missing before those of the builder.
    after_gap: bool,
    /// The newest line of the builder, or the last stored one.
    last: Position,
    /// When the first line of the builder was read.
    begun: Instant,
}

impl Source {
    pub(super) fn new(container: &Container) -> Self {
        Self { instance: container.instance, attempt: container.attempt, batch: None }
    }

    /// Whether it has lines that are not stored.
    pub(super) fn has_lines(&self) -> bool {
        self.batch.as_ref().is_some_and(|batch| !batch.builder.is_empty())
    }

    /// Collects the existing lines and, if `follow`, later ones until the container ends.
    pub(super) async fn collect(
        &mut self,
        archive: &Archive,
        cluster: &Cluster,
        container: &Container,
        follow: bool,
    ) -> Result<(), CollectError> {
        // lines lost in an error of the archive are read again
        let mut batch = match self.batch.take() {
            Some(batch) => batch,
            None => Batch::new(self.load(archive).await?),
        };
        if batch.log.pod != container.pod.name() {
            batch.flush(archive).await?;
            batch.log = continued(batch.log, &container.pod);
        }
        let read = batch.read(archive, cluster, container, follow).await;
        let lost = matches!(
            read,
            Err(CollectError::Objects(_) | CollectError::Database(_) | CollectError::Overtaken)
        );
        if lost {
            return read;
        }
        let few = batch.builder.text_bytes() < ENOUGH && batch.begun.elapsed() < archive.config.hold();
        if !(container.settled && few) {
            batch.flush(archive).await?;
        }
        self.batch = Some(batch);
        read
    }

    /// Stores the lines that are left when the container is gone.
    pub(super) async fn finish(&mut self, archive: &Archive) -> Result<(), CollectError> {
        match self.batch.take() {
            Some(mut batch) => batch.flush(archive).await,
            None => Ok(()),
        }
    }

    /// Reads what is stored, and deletes what is left of an upload without its chunk.
    async fn load(&self, archive: &Archive) -> Result<Log, CollectError> {
        let mut tx = archive.db.worker().await?;
        let found = store::find(&mut tx, self.instance, self.attempt).await?;
        tx.commit().await?;
        let log = found.ok_or(CollectError::Deleted)?;
        let prefix = objects::chunk_prefix(log.tenant, log.instance, log.attempt, log.next_chunk);
        archive.objects.delete_all(&prefix).await?;
        Ok(log)
    }
}

impl Batch {
    fn new(log: Log) -> Self {
        let last = log.position;
        Self { log, builder: Builder::new(), after_gap: false, last, begun: Instant::now() }
    }

    async fn read(
        &mut self,
        archive: &Archive,
        cluster: &Cluster,
        container: &Container,
        follow: bool,
    ) -> Result<(), CollectError> {
        let begun_at = Log { position: self.last, ..self.log.clone() };
        let part = LogPart { since: window(&begun_at), follow, ..LogPart::default() };
        let mut stream = std::pin::pin!(cluster.log(&container.pod, &part).await?);
        let (mut splitter, mut sequencer) = (Splitter::default(), Sequencer::after(begun_at.floor));
        // whether the window is known to continue what was read before
        let mut continues = false;
        let deadline = Instant::now() + MAX_FOLLOW;
        loop {
            let next = if follow {
                let hold = archive.config.hold().max(MIN_HOLD);
                let flush = if self.builder.is_empty() { deadline } else { self.begun + hold };
                let Ok(next) = timeout_at(flush.min(deadline), stream.next()).await else {
                    if Instant::now() >= deadline {
                        return Ok(());
                    }
                    self.flush(archive).await?;
                    continue;
                };
                next
            } else {
                stream.next().await
            };
            let is_end = next.is_none();
            if let Some(bytes) = next {
                splitter.push(&bytes?);
            }
            // at the end, a line without a line break may still grow, unless its container has ended
            let rest = |splitter: &mut Splitter| if is_end && follow { splitter.rest() } else { None };
            while let Some(stamped) = splitter.next().or_else(|| rest(&mut splitter)) {
                let mut at = sequencer.place(stamped.time);
                continues |= at == begun_at.position;
                if at <= begun_at.position {
                    continue;
                }
                if !continues {
                    continues = true;
                    self.read_previous(archive, cluster, &container.pod, &begun_at, stamped.time).await?;
                    sequencer = Sequencer::after(self.last);
                    at = sequencer.place(stamped.time);
                }
                self.add(archive, stamped, at).await?;
            }
            if is_end {
                break;
            }
        }
        if !continues {
            self.read_previous(archive, cluster, &container.pod, &begun_at, i64::MAX).await?;
        }
        Ok(())
    }

    /// Reads the rest of the container before the last restart: the lines before `until`, the time of the first line of
    /// the container that is being read. If that one was restarted meanwhile, it is the one before the last restart.
    async fn read_previous(
        &mut self,
        archive: &Archive,
        cluster: &Cluster,
        pod: &PodRef,
        begun_at: &Log,
        until: i64,
    ) -> Result<(), CollectError> {
        let had_lines = begun_at.position > begun_at.floor;
        let part = LogPart { since: window(begun_at), previous: true, ..LogPart::default() };
        let stream = match cluster.log(pod, &part).await {
            Ok(stream) => stream,
            Err(PodError::NotRunning(_)) => {
                // no restart: the cluster has deleted the last stored line, and maybe more
                self.after_gap |= had_lines;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let mut stream = std::pin::pin!(stream);
        let (mut splitter, mut sequencer) = (Splitter::default(), Sequencer::after(begun_at.floor));
        let mut continues = !had_lines;
        loop {
            let next = stream.next().await;
            let is_end = next.is_none();
            if let Some(bytes) = next {
                splitter.push(&bytes?);
            }
            let rest = |splitter: &mut Splitter| if is_end { splitter.rest() } else { None };
            while let Some(stamped) = splitter.next().or_else(|| rest(&mut splitter)) {
                let at = sequencer.place(stamped.time);
                continues |= at == begun_at.position;
                if at > begun_at.position && stamped.time < until {
                    self.after_gap |= !continues;
                    continues = true;
                    self.add(archive, stamped, at).await?;
                }
            }
            if is_end {
                self.after_gap |= !continues;
                return Ok(());
            }
        }
    }

    async fn add(
        &mut self,
        archive: &Archive,
        Stamped { text, ends, .. }: Stamped,
        at: Position,
    ) -> Result<(), CollectError> {
        if self.builder.is_empty() {
            self.begun = Instant::now();
        }
        self.last = at;
        if self.builder.add(&Line { at, text, ends }) {
            self.flush(archive).await?;
        }
        Ok(())
    }

    /// Stores the lines that were added: the object first, then the index with the new position.
    async fn flush(&mut self, archive: &Archive) -> Result<(), CollectError> {
        let builder = std::mem::replace(&mut self.builder, Builder::new());
        let Some(chunk) = builder.finish() else { return Ok(()) };
        let log = &self.log;
        let prefix = objects::chunk_prefix(log.tenant, log.instance, log.attempt, log.next_chunk);
        let key = format!("{prefix}{:016x}", rand::random::<u64>());
        let give_up = Instant::now() + STORE_WAIT;
        while let Err(error) = archive.objects.put(&key, chunk.bytes.clone()).await {
            if Instant::now() >= give_up {
                return Err(error.into());
            }
            tracing::warn!(instance.id = %log.instance, error = %ErrorChain(&error), "chunk not stored, tried again");
            sleep(STORE_RETRY).await;
        }
        let after_gap = std::mem::take(&mut self.after_gap);
        let mut tx = archive.db.worker().await?;
        let stored = store::append(&mut tx, log, &chunk, &key, after_gap).await?;
        tx.commit().await?;
        let Some(log) = stored else {
            archive.objects.delete(&key).await?;
            return Err(CollectError::Overtaken);
        };
        self.log = log;
        archive.trim(self.log.instance).await
    }
}
