//! Streams of server-sent events as clients read them.

use std::time::Duration;

use futures::StreamExt as _;
use serde_json::{Value, json};
use testkit::eventually;

use crate::fixture::Service;

/// An open stream of events.
pub(crate) struct Stream {
    body: futures::stream::BoxStream<'static, reqwest::Result<Vec<u8>>>,
    read: String,
    /// The last id that was sent.
    pub(crate) last: Option<String>,
}

/// A server-sent event: its id, type and data. A comment has the type `comment`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Stream {
    /// Opens the stream at this path after the event with this id, once the tenant may have another.
    pub(crate) async fn open(service: &Service, token: &str, path: &str, last: Option<&str>) -> Self {
        let answer = eventually("a stream can be opened", async || {
            let answer = request(service, token, path, last).await;
            (answer.status() == 200).then_some(answer)
        })
        .await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let body = answer.bytes_stream().map(|part| part.map(|bytes| bytes.to_vec())).boxed();
        Self { body, read: String::new(), last: None }
    }

    /// Returns the next block of lines; none at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.read.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.read = rest;
                self.last = field(&block, "id: ").or(self.last.take());
                return Some(block);
            }
            let part = tokio::time::timeout(Duration::from_secs(20), self.body.next());
            let part = part.await.expect("something is sent")?.expect("the connection holds");
            self.read.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    /// Returns the next message; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = message(&self.block().await?) {
                return Some(message);
            }
        }
    }

    /// Reads signs of life until one has a position. Returns it.
    pub(crate) async fn next_position(&mut self) -> String {
        loop {
            let block = self.block().await.expect("the stream goes on");
            assert_eq!(message(&block), None);
            if let Some(position) = field(&block, "id: ") {
                return position;
            }
        }
    }

    /// Reads until a message of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Message> {
        let mut read = Vec::new();
        while let Some(message) = self.next().await {
            read.push(message.clone());
            if message.kind == kind {
                return read;
            }
        }
        panic!("the stream ended before {kind}: {read:?}")
    }
}

fn field(block: &str, name: &str) -> Option<String> {
    block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

fn message(block: &str) -> Option<Message> {
    if let Some(comment) = field(block, ": ") {
        return Some(Message { id: None, kind: "comment".to_owned(), data: json!(comment) });
    }
    let data = serde_json::from_str(&field(block, "data: ")?).unwrap();
    Some(Message { id: field(block, "id: "), kind: field(block, "event: ")?, data })
}

pub(crate) async fn request(
    service: &Service,
    token: &str,
    path: &str,
    last: Option<&str>,
) -> reqwest::Response {
    let url = format!("{}{path}", service.client.base());
    let mut request =
        reqwest::Client::new().get(url).bearer_auth(token).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.send().await.unwrap()
}
