//! The stream of one service: opens it, reads it, and resumes it when it breaks.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use reqwest::Client;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use super::{
    blocks::{Block, Blocks},
    notice::ResetReason,
    topic::{Source, Topic},
};

/// How long a service may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Pause before a broken stream is resumed; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A stream that was open for this time did not fail.
const STABLE: Duration = Duration::from_secs(10);

/// A message of a source.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) source: Source,
    /// The followed ones of its topics.
    pub(super) topics: Arc<[Topic]>,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// An event, and the position after it.
    Event { id: String, kind: String, data: String },
    /// The source has been read up to here, without an event.
    Read(String),
    /// Like [`What::Read`], at the beginning of a stream.
    Begun(String),
    /// Events may be missing before those that follow.
    Reset(ResetReason),
    /// The service does not answer.
    Away,
    /// It answers again.
    Back,
    /// The service no longer accepts the caller.
    RightsEnded,
}

/// Why there is no stream.
#[derive(Debug)]
pub(super) enum Unopened {
    /// The service does not answer.
    Away,
    /// The events after the position are deleted.
    Deleted,
    /// Its answer.
    Refused(Response),
}

/// No reader is left.
#[derive(Debug)]
pub(super) struct Gone;

/// The stream of a service for one client.
pub(super) struct Upstream {
    pub(super) source: Source,
    pub(super) url: String,
    pub(super) authorization: HeaderValue,
    pub(super) request_id: Option<HeaderValue>,
    pub(super) http: Client,
    /// Events of other topics are not forwarded.
    pub(super) topics: Arc<[Topic]>,
    /// Where it resumes; none: with the next event.
    pub(super) position: Option<String>,
    /// Why events may be missing before those that follow.
    pub(super) missing: Option<ResetReason>,
}

impl Upstream {
    pub(super) async fn open(&self) -> Result<reqwest::Response, Unopened> {
        let mut request = self.http.get(&self.url).header(header::AUTHORIZATION, self.authorization.clone());
        request = request.header(header::ACCEPT, "text/event-stream");
        if let Some(id) = &self.request_id {
            request = request.header(api::request_id::HEADER, id);
        }
        request = match &self.position {
            Some(id) => request.header("last-event-id", id),
            None => request.query(&[("after", "latest")]),
        };
        let Ok(Ok(response)) = timeout(ANSWER, request.send()).await else { return Err(Unopened::Away) };
        match response.status() {
            StatusCode::OK => Ok(response),
            StatusCode::GONE => Err(Unopened::Deleted),
            status if status.is_client_error() => Err(Unopened::Refused(passed_on(response).await)),
            _ => Err(Unopened::Away),
        }
    }

    /// Forwards the events of the service while there are subscribers. `opened` is the first attempt.
    pub(super) async fn follow(
        mut self,
        mut opened: Result<reqwest::Response, Unopened>,
        out: mpsc::Sender<Told>,
    ) -> Result<(), Gone> {
        let (mut is_away, mut failures) = (false, 0_u32);
        loop {
            match opened {
                Ok(response) => {
                    if std::mem::take(&mut is_away) {
                        self.tell(&out, What::Back).await?;
                    }
                    if let Some(reason) = self.missing.take() {
                        self.tell(&out, What::Reset(reason)).await?;
                    }
                    let begun = Instant::now();
                    self.read(response, &out).await?;
                    if begun.elapsed() > STABLE {
                        failures = 0;
                    }
                }
                Err(Unopened::Deleted) if self.position.take().is_some() => {
                    self.missing = Some(ResetReason::EventsDeleted);
                }
                Err(Unopened::Refused(answer))
                    if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&answer.status()) =>
                {
                    return self.tell(&out, What::RightsEnded).await;
                }
                Err(_) if !is_away => {
                    is_away = true;
                    self.tell(&out, What::Away).await?;
                }
                Err(_) => {}
            }
            if self.position.is_none() {
                self.missing.get_or_insert(ResetReason::PositionUnknown);
            }
            sleep(LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.saturating_pow(failures))).await;
            failures = failures.saturating_add(1);
            opened = self.open().await;
        }
    }

    /// Reads a stream until it ends.
    async fn read(&mut self, mut response: reqwest::Response, out: &mpsc::Sender<Told>) -> Result<(), Gone> {
        let (mut blocks, mut is_first) = (Blocks::default(), true);
        while let Ok(Some(bytes)) = response.chunk().await {
            blocks.push(&bytes);
            loop {
                let block = match blocks.take() {
                    Ok(Some(block)) => block,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(source = self.source.name(), ?error, "cannot read a stream of events");
                        return Ok(());
                    }
                };
                let Some(id) = block.id.clone() else { continue };
                let begins = std::mem::take(&mut is_first) && block.kind.is_none();
                self.position = Some(id.clone());
                let what =
                    self.passed(block).unwrap_or(if begins { What::Begun(id) } else { What::Read(id) });
                self.tell(out, what).await?;
            }
        }
        Ok(())
    }

    /// The event of a block, if it is of a followed topic.
    fn passed(&self, block: Block) -> Option<What> {
        let Block { id: Some(id), kind: Some(kind), data } = block else { return None };
        let is_followed = Topic::of_event(&kind).iter().any(|topic| self.topics.contains(topic));
        is_followed.then_some(What::Event { id, kind, data })
    }

    async fn tell(&self, out: &mpsc::Sender<Told>, what: What) -> Result<(), Gone> {
        out.send(Told { source: self.source, topics: Arc::clone(&self.topics), what }).await.map_err(|_| Gone)
    }
}

/// The client's response for a refusal of a service.
async fn passed_on(response: reqwest::Response) -> Response {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = timeout(ANSWER, response.bytes()).await;
    let mut answer = Response::new(Body::from(body.ok().and_then(Result::ok).unwrap_or_default()));
    *answer.status_mut() = status;
    for name in [header::CONTENT_TYPE, header::RETRY_AFTER] {
        if let Some(value) = headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}
