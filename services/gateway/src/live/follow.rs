//! Joins the streams of the services into one.

use std::time::Duration;

use auth::RightsEnd;
use service::{EventSender, streams::Disconnected};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::{
    notice::StreamNotice,
    position::Position,
    topic::Topic,
    upstream::{Told, Unopened, Upstream, What},
};

/// Milliseconds after which a client connects again.
const RETRY_MS: u32 = 1000;
/// A comment is sent after this time without an event.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events on their way from the services. A client that reads slowly makes the services wait.
const PENDING: usize = 16;

/// Sends events to one client.
pub(super) struct Follower {
    pub(super) topics: Vec<Topic>,
    pub(super) position: Position,
    pub(super) out: EventSender,
}

/// Why a stream ends.
enum End {
    RightsEnded,
    Disconnected,
}

impl From<Disconnected> for End {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

impl Follower {
    /// Sends events until the client's rights end, or it is gone.
    pub(super) async fn run(
        mut self,
        upstreams: Vec<(Upstream, Result<reqwest::Response, Unopened>)>,
        rights_end: impl Future<Output = RightsEnd>,
    ) {
        let out = self.out.clone();
        tokio::select! {
            biased;
            end = rights_end => out.close(end.comment()),
            () = out.closed() => {}
            end = self.follow(upstreams) => {
                if let Err(End::RightsEnded) = end {
                    out.close(RightsEnd::Revoked.comment());
                }
            }
        }
    }

    async fn follow(
        &mut self,
        upstreams: Vec<(Upstream, Result<reqwest::Response, Unopened>)>,
    ) -> Result<(), End> {
        let opened = StreamNotice::Opened { topics: self.topics.clone() };
        self.out.send(format!("retry: {RETRY_MS}\n{}", opened.message())).await?;
        let (sender, mut told) = mpsc::channel(PENDING);
        let mut readers = JoinSet::new();
        for (upstream, opened) in upstreams {
            readers.spawn(upstream.follow(opened, sender.clone()));
        }
        drop(sender);
        // the client knows the position
        let mut is_known = true;
        let mut heartbeat = Instant::now() + HEARTBEAT;
        loop {
            let text = match timeout_at(heartbeat, told.recv()).await {
                Ok(Some(told)) => {
                    let Some(text) = self.text(told)? else {
                        is_known = false;
                        continue;
                    };
                    text
                }
                Ok(None) => return Ok(()),
                Err(_) if is_known => ":\n\n".to_owned(),
                Err(_) => format!(":\nid: {}\n\n", self.position),
            };
            self.out.send(text).await?;
            is_known = true;
            heartbeat = Instant::now() + HEARTBEAT;
        }
    }

    /// The text for the client for a message of a source; none for a position, which is sent later.
    fn text(&mut self, Told { source, topics, what }: Told) -> Result<Option<String>, End> {
        let topics = || topics.to_vec();
        Ok(Some(match what {
            What::Event { id, kind, data } => {
                self.position.0.insert(source, id);
                format!("id: {}\nevent: {kind}\ndata: {data}\n\n", self.position)
            }
            What::Begun(id) => {
                self.position.0.insert(source, id);
                format!("id: {}\n\n", self.position)
            }
            What::Read(id) => {
                self.position.0.insert(source, id);
                return Ok(None);
            }
            What::Reset(reason) => {
                let notice = StreamNotice::Reset { topics: topics(), reason };
                self.position.0.remove(&source);
                notice.message()
            }
            What::Away => StreamNotice::Away { topics: topics() }.message(),
            What::Back => StreamNotice::Back { topics: topics() }.message(),
            What::RightsEnded => return Err(End::RightsEnded),
        }))
    }
}
