//! A client of server-sent events.

use std::time::Duration;

use serde_json::Value;

/// A message, or a comment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: Option<i64>,
    pub(crate) event: Option<String>,
    pub(crate) data: Value,
    pub(crate) comment: Option<String>,
}

/// An open stream.
pub(crate) struct Stream {
    response: reqwest::Response,
    text: String,
    /// The last id that came, as a browser keeps it.
    pub(crate) last_id: Option<i64>,
}

/// Sends the request for a stream.
pub(crate) async fn request(base: &str, path: &str, token: &str, last_id: Option<i64>) -> reqwest::Response {
    let mut request = reqwest::Client::new()
        .get(format!("{base}{path}"))
        .bearer_auth(token)
        .header("accept", "text/event-stream");
    if let Some(last) = last_id {
        request = request.header("last-event-id", last.to_string());
    }
    request.send().await.unwrap()
}

impl Stream {
    pub(crate) async fn open(base: &str, path: &str, token: &str, last_id: Option<i64>) -> Self {
        let response = request(base, path, token, last_id).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { response, text: String::new(), last_id }
    }

    /// The next message or comment; none at the end, however it comes.
    pub(crate) async fn next_part(&mut self) -> Option<Message> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let message = parse(&block);
                self.last_id = message.id.or(self.last_id);
                return Some(message);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(30), self.response.chunk()).await;
            match chunk.expect("the stream goes on or ends") {
                Ok(Some(bytes)) => self.text += std::str::from_utf8(&bytes).unwrap(),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            let part = self.next_part().await?;
            if part.event.is_some() {
                assert_eq!(part.data["sequence"].as_i64(), part.id);
                assert_eq!(part.data["type"].as_str(), part.event.as_deref());
                return Some(part);
            }
        }
    }

    /// The next events.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Message> {
        let mut messages = Vec::new();
        while messages.len() < count {
            messages.push(self.next().await.expect("the stream goes on"));
        }
        messages
    }

    /// The comment with which the stream ends.
    pub(crate) async fn end(&mut self) -> Option<String> {
        let mut comment = None;
        while let Some(part) = self.next_part().await {
            comment = part.comment;
        }
        comment
    }
}

fn parse(block: &str) -> Message {
    let mut message = Message::default();
    for line in block.lines() {
        match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
            Some(("", comment)) => message.comment = Some(comment.to_owned()),
            Some(("id", id)) => message.id = Some(id.parse().unwrap()),
            Some(("event", name)) => message.event = Some(name.to_owned()),
            Some(("data", data)) => message.data = serde_json::from_str(data).unwrap(),
            Some(("retry", milliseconds)) => assert_eq!(milliseconds, "1000"),
            other => panic!("an unknown line {line:?}: {other:?}"),
        }
    }
    message
}
