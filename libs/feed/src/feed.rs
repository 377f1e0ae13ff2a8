//! Serving an outbox to readers that wait for changes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::Changes;
use db::Db;
use serde::de::DeserializeOwned;
use service::{Duty, Task};
use tokio::{
    sync::{OnceCell, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{cursor::Cursor, outbox::Outbox};

/// How often a waiting reader reads without a notification, while notifications are unreliable; otherwise
/// [`Db::heal`] decides.
const POLL: Duration = Duration::from_secs(2);
/// Maximum number of cursors that are known to be at the end.
const KNOWN: usize = 10_000;
/// Maximum number of changes in a page.
const PAGE: u32 = 500;

/// Where a reader of a feed begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// After a cursor.
    After(Cursor),
    /// At the end of what has been published.
    Latest,
}

impl From<Cursor> for Start {
    fn from(cursor: Cursor) -> Self {
        Self::After(cursor)
    }
}

/// How long a reader waits for a change.
#[derive(Debug, Clone)]
pub struct Wait {
    /// The longest time.
    pub at_most: Duration,
    /// Ends the wait early: the shutdown of the process.
    pub stop: CancellationToken,
}

/// An outbox, served by one process. Clones share it.
#[derive(Debug, Clone)]
pub struct Feed {
    outbox: Outbox,
    db: Db,
    published: watch::Sender<()>,
    /// No process runs while its database is restored.
    epoch: Arc<OnceCell<i64>>,
    /// Whether readers are woken by all changes.
    listens: Arc<AtomicBool>,
    /// Cursors at the end of the feed, with the time of their read. A reader that repeatedly waits at the end needs no
    /// further read.
    ends: Arc<Mutex<HashMap<(&'static str, String), Instant>>>,
}

/// As long as it exists, the process wakes the readers of a feed with each change. Before that it has woken them once.
#[derive(Debug)]
pub struct Listens {
    listens: Arc<AtomicBool>,
    ends: Arc<Mutex<HashMap<(&'static str, String), Instant>>>,
}

impl Drop for Listens {
    fn drop(&mut self) {
        self.listens.store(false, Ordering::SeqCst);
        lock(&self.ends).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Feed {
    /// Another view of the same changes, whose readers are woken with those of this one.
    #[must_use]
    pub fn with(&self, outbox: Outbox) -> Self {
        Self { outbox, ..self.clone() }
    }

    /// The feed of `outbox` for this process.
    #[must_use]
    pub fn new(db: &Db, outbox: Outbox) -> Self {
        Self {
            outbox,
            db: db.clone(),
            published: watch::Sender::new(()),
            epoch: Arc::default(),
            listens: Arc::default(),
            ends: Arc::default(),
        }
    }

    /// The task that wakes waiting readers.
    #[must_use]
    pub fn task(&self, owner: &str) -> Task {
        Task::new(owner, Duty::Follow, self, |feed| async move { feed.listen().await })
    }

    async fn listen(&self) -> anyhow::Result<()> {
        let mut listener = self.db.listen(self.outbox.channel).await?;
        let _listens = self.listens();
        loop {
            // the first time for what was published before the connection was made
            self.wake();
            listener.recv().await?;
        }
    }

    /// Wakes waiting readers, as a notification does: for a process that listens to the channel by itself instead of
    /// with [`Feed::task`].
    pub fn wake(&self) {
        // atomically, so that no end is recorded in between
        let mut ends = lock(&self.ends);
        ends.clear();
        self.published.send_replace(());
    }

    /// Readers rely on [`Feed::wake`] as long as the result exists.
    #[must_use]
    pub fn listens(&self) -> Listens {
        self.listens.store(true, Ordering::SeqCst);
        Listens { listens: Arc::clone(&self.listens), ends: Arc::clone(&self.ends) }
    }

    /// Returns the time until which a cursor is known to be at the end, if it is.
    fn is_end_until(&self, cursor: &Cursor) -> Option<Instant> {
        let at = lock(&self.ends).get(&(self.outbox.table, cursor.to_string())).copied()?;
        Some(at + self.db.heal()).filter(|until| *until > Instant::now())
    }

    /// Records that nothing was published after a cursor when it was read, unless readers were woken since.
    fn put_end(&self, cursor: &Cursor, published: &watch::Receiver<()>, at: Instant) {
        let mut ends = lock(&self.ends);
        let is_current = matches!(published.has_changed(), Ok(false));
        if self.listens.load(Ordering::SeqCst) && is_current && ends.len() < KNOWN {
            ends.insert((self.outbox.table, cursor.to_string()), at);
        }
    }

    async fn epoch(&self) -> sqlx::Result<i64> {
        let read = async || {
            let mut tx = self.db.worker().await?;
            Outbox::epoch(&mut tx).await
        };
        self.epoch.get_or_try_init(read).await.copied()
    }

    /// Returns the changes after the start, as soon as there are any; empty when the wait ends. A reader at the
    /// beginning does not wait, because it needs to know that it has read everything. A reader that starts with the
    /// latest does not wait either, because it needs a cursor. A cursor that was handed out before the database was
    /// restored from a backup counts as the beginning.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn changes<T: DeserializeOwned>(&self, start: &Start, wait: &Wait) -> sqlx::Result<Changes<T>> {
        let deadline = Instant::now() + wait.at_most;
        let mut published = self.published.subscribe();
        let epoch = self.epoch().await?;
        let mut after = match start {
            Start::After(cursor) if cursor.epoch == epoch => cursor.clone(),
            Start::After(_) => Cursor::beginning(epoch),
            Start::Latest => {
                let mut tx = self.db.worker().await?;
                let next_cursor = self.outbox.end(&mut tx).await?.to_string();
                return Ok(Changes { items: Vec::new(), next_cursor, complete: true });
            }
        };
        loop {
            published.mark_unchanged();
            // a reader that does not wait needs what is committed now
            let known = if wait.at_most.is_zero() { None } else { self.is_end_until(&after) };
            if let Some(until) = known {
                let is_over = Instant::now() >= deadline || wait.stop.is_cancelled();
                if is_over {
                    return Ok(Changes { items: Vec::new(), next_cursor: after.to_string(), complete: true });
                }
                tokio::select! {
                    () = wait.stop.cancelled() => {}
                    _ = timeout_at(deadline.min(until), published.changed()) => {}
                }
                continue;
            }
            let read_at = Instant::now();
            let mut tx = self.db.worker().await?;
            let page = self.outbox.page(&mut tx, &after, PAGE).await?;
            drop(tx);
            let is_over = Instant::now() >= deadline || wait.stop.is_cancelled();
            if page.complete {
                self.put_end(&page.next, &published, read_at);
            }
            if !page.items.is_empty() || after.is_beginning() || is_over {
                return Ok(page.into());
            }
            // the previous pages were from an earlier read: there may be changes since
            let is_rest = after.partial.is_some();
            after = page.next;
            if is_rest {
                continue;
            }
            let poll = if self.listens.load(Ordering::SeqCst) { self.db.heal() } else { POLL };
            let next = deadline.min(Instant::now() + poll);
            tokio::select! {
                () = wait.stop.cancelled() => {}
                // the sender lives as long as this feed
                _ = timeout_at(next, published.changed()) => {}
            }
        }
    }
}
