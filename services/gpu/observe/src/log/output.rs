//! How lines are sent: as plain text, or as server-sent events with the position as id.

use std::{fmt::Write as _, io, time::Duration};

use axum::body::Bytes;
use bytes::BytesMut;
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use super::line::{Line, LineId};

/// Bytes that are sent together, about.
const TOGETHER: usize = 16 * 1024;
/// Milliseconds after which a client of events connects again.
const RETRY_MS: u32 = 1000;

/// The form of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The text of the lines, after their times if `timestamps`.
    Text { timestamps: bool },
    /// A message for each line. Closed when the client reads nothing for `slow_reader`.
    Events { slow_reader: Duration },
}

/// The client is gone, or reads nothing.
#[derive(Debug)]
pub(super) struct Disconnected;

/// The writing side of a response.
pub(super) struct Output {
    form: Form,
    attempt: i64,
    buffer: BytesMut,
    out: mpsc::Sender<io::Result<Bytes>>,
    /// Whether the next line continues one that has begun.
    within_line: bool,
    /// When something was sent last.
    sent: Instant,
}

impl Output {
    pub(super) fn new(form: Form, attempt: i64, out: mpsc::Sender<io::Result<Bytes>>) -> Self {
        let mut buffer = BytesMut::new();
        if form.is_events() {
            let _ = write!(buffer, "retry: {RETRY_MS}\n\n");
        }
        Self { form, attempt, buffer, out, within_line: false, sent: Instant::now() }
    }

    /// Adds a line. [`Output::flush`] sends it.
    pub(super) async fn line(&mut self, line: &Line) -> Result<(), Disconnected> {
        match self.form {
            Form::Text { timestamps } => {
                if timestamps && !self.within_line {
                    let _ = write!(self.buffer, "{:.9} ", line.at.timestamp());
                }
                self.buffer.extend_from_slice(&line.text);
                if line.ends {
                    self.buffer.extend_from_slice(b"\n");
                }
            }
            Form::Events { .. } => {
                let id = LineId { attempt: self.attempt, position: line.at };
                let time = format!("{:.9}", line.at.timestamp());
                let text = String::from_utf8_lossy(&line.text);
                let data = json!({ "time": time, "text": text, "continues": !line.ends });
                let _ = write!(self.buffer, "id: {id}\ndata: {data}\n\n");
            }
        }
        self.within_line = !line.ends;
        if self.buffer.len() >= TOGETHER { self.flush().await } else { Ok(()) }
    }

    /// Adds a message of another type than a line. Plain text has none.
    pub(super) fn event(&mut self, name: &str, data: &serde_json::Value) {
        if self.form.is_events() {
            let _ = write!(self.buffer, "event: {name}\ndata: {data}\n\n");
        }
    }

    /// Sends what was added.
    pub(super) async fn flush(&mut self) -> Result<(), Disconnected> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.sent = Instant::now();
        let send = self.out.send(Ok(self.buffer.split().freeze()));
        let sent = match self.form {
            Form::Text { .. } => Ok(send.await),
            Form::Events { slow_reader } => timeout(slow_reader, send).await,
        };
        sent.map_err(|_| Disconnected)?.map_err(|_| Disconnected)
    }

    pub(super) fn is_events(&self) -> bool {
        self.form.is_events()
    }

    /// Returns when something was sent last.
    pub(super) fn last_sent(&self) -> Instant {
        self.sent
    }

    /// Sends a heartbeat. Plain text has none.
    pub(super) async fn heartbeat(&mut self) -> Result<(), Disconnected> {
        self.sent = Instant::now();
        if self.form.is_events() {
            self.buffer.extend_from_slice(b":\n\n");
        }
        self.flush().await
    }
}

impl Form {
    pub(super) fn is_events(self) -> bool {
        matches!(self, Self::Events { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::line::Position;

    async fn sent(form: Form, lines: &[(&str, bool)]) -> String {
        let (out, mut pending) = mpsc::channel(16);
        let mut output = Output::new(form, 2, out);
        for (text, ends) in lines {
            let at = Position { time: 1_000_000_001, sequence: 1 };
            let text = Bytes::copy_from_slice(text.as_bytes());
            output.line(&Line { at, text, ends: *ends }).await.unwrap();
        }
        output.flush().await.unwrap();
        drop(output);
        let mut all = Vec::new();
        while let Some(part) = pending.recv().await {
            all.extend_from_slice(&part.unwrap());
        }
        String::from_utf8(all).unwrap()
    }

    #[tokio::test]
    async fn lines_are_text_or_events() {
        let lines = [("one", true), ("tw", false), ("o", true)];
        assert_eq!(sent(Form::Text { timestamps: false }, &lines).await, "one\ntwo\n");
        let stamp = "1970-01-01T00:00:01.000000001Z";
        let text = format!("{stamp} one\n{stamp} two\n");
        assert_eq!(sent(Form::Text { timestamps: true }, &lines).await, text);
        let events = sent(Form::Events { slow_reader: Duration::from_secs(1) }, &lines[..1]).await;
        let (begin, rest) = events.split_once("\n\n").unwrap();
        assert_eq!(begin, "retry: 1000");
        let (id, data) = rest.trim_end().split_once('\n').unwrap();
        assert_eq!(id, "id: 2-1000000001-1");
        let data: serde_json::Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data, json!({ "time": stamp, "text": "one", "continues": false }));
    }
}
