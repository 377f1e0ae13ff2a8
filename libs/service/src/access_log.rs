//! The access log: one line per request, once its response has been sent or given up.

use std::{
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use hyper::body::{Frame, SizeHint};
use tracing::Span;

/// Bodies of a known size up to this count as sent: counting their bytes is not worth the cost.
const SMALL: u64 = 64 * 1024;

/// Fields of the log line of a request, in addition to those of its span.
pub(crate) struct Line {
    pub(crate) span: Span,
    /// Ends with the line.
    pub(crate) trace: traces::Span,
    pub(crate) status: u16,
    pub(crate) peer: Option<IpAddr>,
    /// Bytes of the request's body, if it had a length.
    pub(crate) received: Option<u64>,
    pub(crate) begun: Instant,
    /// Time until the head of the response was known.
    pub(crate) answered: Duration,
}

impl Line {
    fn write(&mut self, sent: u64) {
        self.trace.set_number("http.response.body.size", i64::try_from(sent).unwrap_or(i64::MAX));
        self.span.in_scope(|| {
            tracing::info!(
                http.status = self.status,
                client.address = self.peer.map(tracing::field::display),
                http.request.bytes = self.received,
                http.response.bytes = sent,
                answered_ms = milliseconds(self.answered),
                took_ms = milliseconds(self.begun.elapsed()),
                "answered"
            );
        });
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Writes the line when the response has been sent.
pub(crate) fn add(response: Response, mut line: Line) -> Response {
    match response.body().size_hint().exact() {
        Some(size) if size <= SMALL => {
            line.write(size);
            response
        }
        _ => response.map(|body| Body::new(Counted { body, sent: 0, line })),
    }
}

/// A body that counts the bytes that are read.
struct Counted {
    body: Body,
    sent: u64,
    line: Line,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.sent += u64::try_from(data.len()).unwrap_or(u64::MAX);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let sent = self.sent;
        self.line.write(sent);
    }
}
