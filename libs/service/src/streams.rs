//! Responses that continue: server-sent events, and the limit of open streams per tenant.

use std::{
    collections::HashMap,
    convert::Infallible,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::{Problem, ProblemType};
use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures::stream;
use http::{HeaderMap, HeaderName, header};
use tokio::{sync::mpsc, time::timeout};

const EVENT_STREAM: &str = "text/event-stream";
/// Events on their way to a connection.
const PENDING: usize = 16;
/// Seconds after which a client that has too many streams may try again.
const RETRY: u32 = 5;

/// Whether the client accepts a stream of server-sent events.
#[must_use]
pub fn wants_stream(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok())
        .flat_map(|accept| accept.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|range| range.trim().eq_ignore_ascii_case(EVENT_STREAM))
}

/// The sending end of a stream of server-sent events. The stream ends when it is dropped.
#[derive(Clone)]
pub struct EventSender {
    out: mpsc::Sender<Bytes>,
    slow_reader: Duration,
}

/// The client is gone, or reads nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnected;

/// Returns a stream of server-sent events, and their sender. A client that reads nothing for `slow_reader`
/// counts as gone.
#[must_use]
pub fn event_stream(slow_reader: Duration) -> (EventSender, Response) {
    let (out, pending) = mpsc::channel(PENDING);
    let body = stream::unfold(pending, |mut pending| async move {
        pending.recv().await.map(|part| (Ok::<Bytes, Infallible>(part), pending))
    });
    let headers = [
        (header::CONTENT_TYPE, EVENT_STREAM),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // proxies that buffer responses by default
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (EventSender { out, slow_reader }, (headers, Body::from_stream(body)).into_response())
}

impl EventSender {
    /// Sends lines of the stream, each with its line break.
    ///
    /// # Errors
    /// If the client is gone, or reads nothing.
    pub async fn send(&self, text: String) -> Result<(), Disconnected> {
        match timeout(self.slow_reader, self.out.send(Bytes::from(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Disconnected),
            Err(_) => {
                tracing::info!("event stream closed: the client takes nothing");
                Err(Disconnected)
            }
        }
    }

    /// Sends the client the reason why the stream ends. A client that reads nothing misses it.
    pub fn close(self, why: &str) {
        let _ = self.out.try_send(Bytes::from(format!(": {why}\n\n")));
    }

    /// Completes when the client is gone.
    pub async fn closed(&self) {
        self.out.closed().await;
    }
}

/// The open streams of this replica, counted by tenant and kind. Each replica counts its own; clones share them.
#[derive(Debug)]
pub struct Streams<K> {
    open: Arc<Mutex<HashMap<K, u32>>>,
}

impl<K> Default for Streams<K> {
    fn default() -> Self {
        Self { open: Arc::default() }
    }
}

impl<K> Clone for Streams<K> {
    fn clone(&self) -> Self {
        Self { open: Arc::clone(&self.open) }
    }
}

impl<K: Eq + Hash + Copy> Streams<K> {
    /// Counts a stream until the result is dropped.
    ///
    /// # Errors
    /// Returns 429 if there are `limit` of them.
    pub fn open(&self, key: K, limit: u32) -> Result<Open<K>, Problem> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(key).or_default();
        if *count >= limit {
            let detail = format!("This tenant may have {limit} of them open at the same time.");
            let problem = Problem::new(ProblemType::TooManyStreams, detail);
            return Err(problem.with("limit", limit).with("retry_after", RETRY));
        }
        *count += 1;
        Ok(Open { streams: self.clone(), key })
    }
}

/// An open stream.
#[derive(Debug)]
pub struct Open<K: Eq + Hash + Copy> {
    streams: Streams<K>,
    key: K,
}

impl<K: Eq + Hash + Copy> Drop for Open<K> {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_streams_with_a_key_are_open_at_a_time() {
        let streams = Streams::<(u8, &str)>::default();
        let first = streams.open((1, "log"), 2).unwrap();
        let second = streams.open((1, "log"), 2).unwrap();
        assert!(streams.open((1, "log"), 2).is_err());
        let _terminal = streams.open((1, "terminal"), 1).unwrap();
        assert!(streams.open((1, "terminal"), 1).is_err());
        assert!(streams.open((2, "log"), 2).is_ok(), "another tenant has its own");
        drop(first);
        assert!(streams.open((1, "log"), 2).is_ok());
        drop(second);
        assert_eq!(streams.open.lock().unwrap().len(), 1, "only the terminal is left");
    }

    #[test]
    fn a_stream_is_for_those_who_accept_one() {
        let accepts = |value: &str| {
            wants_stream(&[(header::ACCEPT, value.parse().unwrap())].into_iter().collect::<HeaderMap>())
        };
        for stream in ["text/event-stream", "Text/Event-Stream;q=0.9", "application/json, text/event-stream"]
        {
            assert!(accepts(stream), "{stream}");
        }
        for list in ["*/*", "application/json", "text/*", "text/event-streams"] {
            assert!(!accepts(list), "{list}");
        }
        assert!(!wants_stream(&HeaderMap::new()));
    }
}
