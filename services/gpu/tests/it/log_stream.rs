//! A client of a log as server-sent events.

use std::time::Duration;

use serde_json::Value;

/// A line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) text: String,
}

/// An open stream.
pub(crate) struct LogStream {
    response: reqwest::Response,
    text: String,
}

impl LogStream {
    pub(crate) async fn request(
        base: &str,
        path: &str,
        token: &str,
        last_id: Option<&str>,
    ) -> reqwest::Response {
        let mut request = reqwest::Client::new()
            .get(format!("{base}{path}"))
            .bearer_auth(token)
            .header("accept", "text/event-stream");
        if let Some(last) = last_id {
            request = request.header("last-event-id", last);
        }
        request.send().await.unwrap()
    }

    pub(crate) async fn open(base: &str, path: &str, token: &str, last_id: Option<&str>) -> Self {
        // a stream that the test has closed counts until the service notices
        let response = testkit::eventually("a stream is opened", async || {
            Some(Self::request(base, path, token, last_id).await).filter(|answer| answer.status() != 429)
        })
        .await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next lines.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        while lines.len() < count {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                lines.extend(parse(&block));
                continue;
            }
            let chunk = tokio::time::timeout(Duration::from_secs(30), self.response.chunk()).await;
            let bytes = chunk.expect("the stream goes on").unwrap().expect("the stream goes on");
            self.text += std::str::from_utf8(&bytes).unwrap();
        }
        lines
    }
}

fn parse(block: &str) -> Option<Line> {
    assert!(!block.contains("event: "), "{block}");
    let id = block.lines().find_map(|line| line.strip_prefix("id: "))?.to_owned();
    let data = block.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let _: jiff::Timestamp = data["time"].as_str().unwrap().parse().unwrap();
    Some(Line { id, text: data["text"].as_str().unwrap().to_owned() })
}
