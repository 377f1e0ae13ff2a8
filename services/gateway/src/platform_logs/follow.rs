//! Follows the lines of all replicas, as server-sent events.

use std::{collections::BTreeMap, time::Duration};

use auth::RightsEnd;
use service::{EventSender, recent_logs::LogQuery, streams::Disconnected};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, interval, sleep, timeout},
};

use super::{
    PlatformLogLine,
    read::{Reader, Source},
};

/// How often the addresses of replicas are resolved: those of an upgrade are followed as soon.
const LOOK: Duration = Duration::from_secs(5);
/// Pause after a replica that does not answer.
const RETRY: Duration = Duration::from_secs(1);
/// Time for a replica to answer: longer than it waits for a line.
const DEADLINE: Duration = Duration::from_secs(20);
/// A comment is sent after this time without a line.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Lines on their way.
const PENDING: usize = 256;

/// Sends lines to one client.
pub(super) struct Follower {
    pub(super) reader: Reader,
    pub(super) module: Option<String>,
    /// Filter of the lines, and how many existing ones.
    pub(super) lines: LogQuery,
    pub(super) out: EventSender,
}

impl Follower {
    /// Sends lines until the client's rights end, or it is gone.
    pub(super) async fn run(self, rights_end: impl Future<Output = RightsEnd>) {
        let out = self.out.clone();
        tokio::select! {
            biased;
            end = rights_end => out.close(end.comment()),
            () = out.closed() => {}
            _ = self.follow() => {}
        }
    }

    async fn follow(&self) -> Result<(), Disconnected> {
        let (sender, mut lines) = mpsc::channel(PENDING);
        let mut readers = JoinSet::new();
        let mut followed = BTreeMap::new();
        let mut look = interval(LOOK);
        loop {
            let next = tokio::select! {
                next = timeout(HEARTBEAT, lines.recv()) => next,
                _ = look.tick() => {
                    let (sources, _) = self.reader.sources(self.module.as_deref()).await;
                    followed.retain(|source, reader: &mut tokio::task::AbortHandle| {
                        let is_there = sources.contains(source);
                        if !is_there {
                            reader.abort();
                        }
                        is_there
                    });
                    for source in sources {
                        followed.entry(source).or_insert_with_key(|source| {
                            readers.spawn(read(self.reader.clone(), source.clone(), self.lines.clone(), sender.clone()))
                        });
                    }
                    continue;
                }
            };
            let text = match next {
                Ok(Some(line)) => format!("data: {}\n\n", serde_json::to_string(&line).unwrap_or_default()),
                Ok(None) => return Ok(()),
                Err(_) => ": no new lines\n\n".to_owned(),
            };
            self.out.send(text).await?;
        }
    }
}

/// Reads the lines of a process while there is a reader.
async fn read(reader: Reader, source: Source, mut query: LogQuery, out: mpsc::Sender<PlatformLogLine>) {
    loop {
        let begun = Instant::now();
        match reader.page(&source, &query, DEADLINE).await {
            Ok(page) => {
                (query.process, query.after) = (Some(page.process), page.last);
                for line in reader.named(&source, page) {
                    if out.send(line).await.is_err() {
                        return;
                    }
                }
            }
            Err(_) => sleep(RETRY.saturating_sub(begun.elapsed())).await,
        }
    }
}
