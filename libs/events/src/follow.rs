//! The common parts of all streams of events: how they begin, send heartbeats, and end.

use std::{convert::Infallible, fmt::Display, time::Duration};

use api::{LastEventId, Problem};
use auth::RightsEnd;
use service::{EventSender, streams::Disconnected};
use tokio::time::{Instant, sleep_until};

/// Milliseconds after which a client connects again.
const RETRY_MS: u32 = 1000;

/// The requested start of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start<P> {
    /// With the oldest event that is kept.
    Oldest,
    /// With the next event.
    Latest,
    /// After this position.
    After(P),
}

impl<P> Start<P> {
    /// The start by the header `Last-Event-ID`, without it by the parameter `after`: a position, or `latest`.
    ///
    /// # Errors
    /// `invalid-field` if it is no position, which `expected` describes: "must be …".
    pub fn of(
        last: LastEventId,
        after: Option<String>,
        parse: impl FnOnce(&str) -> Option<P>,
        expected: &'static str,
    ) -> Result<Self, Problem> {
        let (name, text) = match (last.0, after) {
            (Some(id), _) => ("Last-Event-ID", id),
            (None, Some(after)) if after == "latest" => return Ok(Self::Latest),
            (None, Some(after)) => ("after", after),
            (None, None) => return Ok(Self::Oldest),
        };
        parse(&text).map(Self::After).ok_or_else(|| Problem::invalid_field(name, expected))
    }
}

/// How a stream ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// The rights of the caller have ended.
    Rights(RightsEnd),
    /// The database does not answer.
    Unavailable,
    /// For a reason of this stream, in words for its client.
    Because(&'static str),
    /// The client is gone, or does not read: it gets no comment.
    Disconnected,
}

impl From<Disconnected> for End {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

impl End {
    fn comment(self) -> Option<&'static str> {
        match self {
            Self::Rights(end) => Some(end.comment()),
            Self::Unavailable => Some("the database does not answer; connect again"),
            Self::Because(reason) => Some(reason),
            Self::Disconnected => None,
        }
    }
}

/// The source of a stream's events.
pub trait Source: Send + 'static {
    /// Returns the `id` of the position at which the stream begins; none if clients need not know it.
    fn begin(&mut self) -> Option<String>;

    /// Sends the events that have arrived. Returns whether there were any.
    fn send(&mut self, out: &EventSender) -> impl Future<Output = Result<bool, End>> + Send;

    /// Waits until there may be more. Dropped and called again while there are none.
    fn changed(&mut self) -> impl Future<Output = Result<(), End>> + Send;

    /// Called when nothing was sent for a while. Returns the `id` of the position up to which events were
    /// read, unless the client knows it.
    fn idle(&mut self) -> Option<String>;
}

/// One stream.
pub struct Stream {
    /// The connection to the client.
    pub out: EventSender,
    /// How long nothing is sent before a comment shows that the stream is open.
    pub heartbeat: Duration,
}

impl Stream {
    /// Sends the events of `source`, in a task of its own, until the rights of the caller end, the client is gone, or the source
    /// ends. Drops `open` then, which counts the stream.
    pub fn run(
        self,
        open: impl Send + 'static,
        rights: impl Future<Output = RightsEnd> + Send + 'static,
        mut source: impl Source,
    ) {
        tokio::spawn(async move {
            let end = tokio::select! {
                biased;
                end = rights => End::Rights(end),
                () = self.out.closed() => End::Disconnected,
                Err(end) = self.follow(&mut source) => end,
            };
            if let Some(comment) = end.comment() {
                self.out.close(comment);
            }
            drop(open);
        });
    }

    async fn follow(&self, source: &mut impl Source) -> Result<Infallible, End> {
        let id = source.begin().map(id_line).unwrap_or_default();
        self.out.send(format!("retry: {RETRY_MS}\n{id}\n")).await?;
        let mut heartbeat = Instant::now() + self.heartbeat;
        loop {
            if source.send(&self.out).await? {
                heartbeat = Instant::now() + self.heartbeat;
            }
            loop {
                tokio::select! {
                    // first: events that a filter drops do not count
                    biased;
                    () = sleep_until(heartbeat) => {
                        let id = source.idle().map(id_line).unwrap_or_default();
                        self.out.send(format!(":\n{id}\n")).await?;
                        heartbeat = Instant::now() + self.heartbeat;
                    }
                    changed = source.changed() => {
                        changed?;
                        break;
                    }
                }
            }
        }
    }
}

fn id_line(id: impl Display) -> String {
    format!("id: {id}\n")
}

/// Returns an event as a server-sent event. `data` is JSON, which has no line breaks.
#[must_use]
pub fn message(id: Option<&dyn Display>, kind: &str, data: &dyn Display) -> String {
    let id = id.map(id_line).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::json;
    use service::event_stream;

    use super::*;

    #[test]
    fn the_last_event_comes_before_the_parameter() {
        let start = |last: Option<&str>, after: Option<&str>| {
            let last = LastEventId(last.map(str::to_owned));
            Start::of(last, after.map(str::to_owned), |text| text.parse::<u32>().ok(), "must be a number")
        };
        assert_eq!(start(None, None).ok(), Some(Start::Oldest));
        assert_eq!(start(None, Some("latest")).ok(), Some(Start::Latest));
        assert_eq!(start(None, Some("0")).ok(), Some(Start::After(0)));
        assert_eq!(start(Some("7"), Some("latest")).ok(), Some(Start::After(7)));
        for (last, after) in
            [(Some("x"), Some("3")), (Some("latest"), None), (None, Some("-1")), (None, Some(""))]
        {
            assert!(start(last, after).is_err(), "{last:?} {after:?}");
        }
    }

    #[test]
    fn a_message_has_type_and_one_line_of_data() {
        let text = message(Some(&7), "job.failed", &json!({ "message": "a\nb" }));
        assert_eq!(text, "id: 7\nevent: job.failed\ndata: {\"message\":\"a\\nb\"}\n\n");
        assert!(message(None, "job.progress", &1).starts_with("event: "));
    }

    /// One event every 10 seconds, of which every third is sent, and an end.
    struct Ticks(u32);

    impl Source for Ticks {
        fn begin(&mut self) -> Option<String> {
            Some("0".into())
        }

        async fn send(&mut self, out: &EventSender) -> Result<bool, End> {
            let is_sent = self.0 > 0 && self.0.is_multiple_of(3);
            if is_sent {
                out.send(message(Some(&self.0), "tick", &self.0)).await?;
            }
            if self.0 == 6 { Err(End::Because("that was all")) } else { Ok(is_sent) }
        }

        async fn changed(&mut self) -> Result<(), End> {
            tokio::time::sleep(Duration::from_secs(10)).await;
            self.0 += 1;
            Ok(())
        }

        fn idle(&mut self) -> Option<String> {
            (self.0 == 1).then(|| "1".into())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_shows_that_it_is_open_and_says_why_it_ends() {
        let (out, response) = event_stream(Duration::from_secs(60));
        let stream = Stream { out, heartbeat: Duration::from_secs(15) };
        stream.run((), std::future::pending(), Ticks(0));
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let tick = |n| format!("id: {n}\nevent: tick\ndata: {n}\n\n");
        // each sign of life begins a wait anew: 15 s, 30 s and so on
        let text = String::from_utf8(body.to_vec()).unwrap();
        let (first, rest) = text.split_once(&tick(3)).unwrap();
        assert!(first.starts_with("retry: 1000\nid: 0\n\n:\nid: 1\n\n"), "{text}");
        assert!(
            rest.contains(":\n\n") && rest.ends_with(&format!("{}: that was all\n\n", tick(6))),
            "{text}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_with_the_rights() {
        let (out, response) = event_stream(Duration::from_secs(60));
        let (open, mut closed) = tokio::sync::oneshot::channel::<()>();
        let rights = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            RightsEnd::Revoked
        };
        Stream { out, heartbeat: Duration::from_secs(15) }.run(open, rights, Ticks(0));
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(body, "retry: 1000\nid: 0\n\n: your rights have ended\n\n");
        assert!(closed.try_recv().is_err(), "it is not counted any more");
    }
}
