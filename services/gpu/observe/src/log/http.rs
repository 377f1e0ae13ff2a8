//! `/v1/instances/{id}/log` and `/v1/instances/{id}/logs`.

use std::io;

use api::{ErrorChain, Json, LastEventId, Page, PageParams, Path, Problem, ProblemType, Query};
use auth::{Member, RightsEnd};
use axum::{
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
};
use futures::stream;
use gpu_core::instance::Instance;
use http::{HeaderMap, HeaderName, header};
use ids::InstanceId;
use instances::{
    instance::{self, Container, container_of},
    streams::StreamKind,
};
use jiff::{SignedDuration, Timestamp};
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::wants_stream;
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use super::{
    Parts,
    line::{LineId, Position},
    output::{Form, Output},
    read::{Live, ReadError, Reader, Selection},
    store::{self, Log},
};

const DEFAULT_TAIL: i64 = 1000;
const MAX_TAIL: i64 = 10_000;
/// Maximum number of bytes of the search text.
const MAX_SEARCH: usize = 200;
/// Maximum number of bytes of kept text that one request searches.
const MAX_SEARCHED: i64 = 64 * 1024 * 1024;
/// Parts of the response on their way to the connection.
const PENDING: usize = 4;

/// Part of the log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Number of last lines. For a running attempt, they come from its container and not from the kept log. If absent,
    /// all lines; the last 1000 if `since`, `search`, `attempt` and `Last-Event-ID` are absent, too.
    #[param(minimum = 0, maximum = 10_000)]
    tail: Option<i64>,
    /// Only lines from this time on: RFC 3339, or seconds before now.
    since: Option<String>,
    /// Only lines that contain this text, among those that the other parameters select.
    #[param(min_length = 1, max_length = 200)]
    search: Option<String>,
    /// Attempt (number of the start) to read the log of; the current one if absent.
    attempt: Option<i64>,
    /// Whether to keep the response open for later lines. The default is `true` for events, `false` for text.
    follow: Option<bool>,
    /// Whether lines of text begin with their time.
    #[param(default = false)]
    timestamps: Option<bool>,
}

/// A line of a log, as a server-sent event.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogLine {
    /// Time of the line.
    time: Timestamp,
    /// Text, with U+FFFD for what is not UTF-8.
    text: String,
    /// Whether the next line continues this one: lines are cut after 64 KiB.
    continues: bool,
}

/// Reads or follows the log of an instance.
///
/// With `Accept: text/event-stream` each line is an event with an `id`: connect again with it as `Last-Event-ID` to
/// continue after this line. `event: gap` marks lines that were lost or deleted; `event: end` follows the last line of
/// a log that has ended. Otherwise the response is text. `docs/LOGS.md` describes what is kept.
#[utoipa::path(
    get, path = "/v1/instances/{id}/log", operation_id = "get_instance_log", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), LogQuery, LastEventId),
    responses((status = 200, description = "Lines of the log", content(
        (String = "text/plain"), (LogLine = "text/event-stream")
    ))),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceNotRunning, ProblemType::LogArchiveDisabled,
        ProblemType::TooManyStreams
    ]))),
)]
pub(crate) async fn get_instance_log(
    State(app): State<Parts>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Path(id): Path<InstanceId>,
    Query(query): Query<LogQuery>,
) -> Result<Response, Problem> {
    let is_stream = wants_stream(&headers);
    let (selection, instance) = select(&app, &member, id, &query, last, is_stream).await?;
    let open = app.streams.open(member.tenant, StreamKind::Log)?;
    let form = if is_stream {
        Form::Events { slow_reader: app.streams.config.slow_reader() }
    } else {
        Form::Text { timestamps: query.timestamps.unwrap_or(false) }
    };
    let (out, pending) = mpsc::channel(PENDING);
    let output = Output::new(form, selection.attempt, out.clone());
    let mut reader = prepare(&app, selection, &instance, output).await?;
    let end = app.streams.rights_end(&member, is_stream);
    tokio::spawn(async move {
        let end = tokio::select! {
            biased;
            end = end => Some(RightsEnd::comment(end)),
            () = out.closed() => None,
            read = reader.run() => reader.finish(read, &out).await,
        };
        if let Some(comment) = end.filter(|_| is_stream) {
            // a client that reads nothing misses it
            let _ = out.try_send(Ok(Bytes::from(format!(": {comment}\n\n"))));
        }
        drop(open);
    });
    let body = stream::unfold(pending, |mut pending| async move {
        pending.recv().await.map(|part: io::Result<Bytes>| (part, pending))
    });
    let kind = if is_stream { "text/event-stream" } else { "text/plain; charset=utf-8" };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // proxies that buffer responses by default
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// Checks the parameters, and finds the instance.
async fn select(
    app: &Parts,
    member: &Member,
    id: InstanceId,
    query: &LogQuery,
    last: LastEventId,
    is_stream: bool,
) -> Result<(Selection, Instance), Problem> {
    if query.tail.is_some_and(|tail| !(0..=MAX_TAIL).contains(&tail)) {
        return Err(Problem::invalid_field("tail", format!("must be between 0 and {MAX_TAIL}")));
    }
    let search = query.search.as_deref();
    if search.is_some_and(|text| !(1..=MAX_SEARCH).contains(&text.len())) {
        return Err(Problem::invalid_field("search", format!("must have 1 to {MAX_SEARCH} bytes")));
    }
    if query.attempt.is_some_and(|attempt| attempt < 1) {
        return Err(Problem::invalid_field("attempt", "must be at least 1"));
    }
    let since = query.since.as_deref().map(|since| read_since(since, (app.clock)())).transpose()?;
    let last = last.0.filter(|_| is_stream).map(|id| id.parse::<LineId>()).transpose();
    let last = last.map_err(|_| Problem::invalid_field("Last-Event-ID", "must be the `id` of a line"))?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let instance = instance::store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    let attempt = query.attempt.or(last.map(|last| last.attempt)).unwrap_or(instance.attempt);
    let begin = since.map(Position::before).unwrap_or_default();
    let resumed = last.filter(|last| last.attempt == attempt).map(|last| last.position);
    let is_default = since.is_none() && search.is_none() && query.attempt.is_none() && last.is_none();
    let selection = Selection {
        tenant: member.tenant,
        instance: id,
        attempt,
        start: resumed.map_or(begin, |resumed| resumed.max(begin)),
        // a resumed stream continues at its position
        tail: query.tail.filter(|_| resumed.is_none()).or(is_default.then_some(DEFAULT_TAIL)),
        search: search.map(|text| Finder::new(text.as_bytes()).into_owned()),
        follow: query.follow.unwrap_or(is_stream),
    };
    Ok((selection, instance))
}

fn read_since(text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    let seconds = || {
        let seconds = text.parse::<u32>().ok()?;
        now.checked_sub(SignedDuration::from_secs(seconds.into())).ok()
    };
    text.parse().ok().or_else(seconds).ok_or_else(|| {
        Problem::invalid_field("since", "must be a time as in RFC 3339, or a number of seconds")
    })
}

/// Decides where the lines come from.
async fn prepare(
    app: &Parts,
    selection: Selection,
    instance: &Instance,
    output: Output,
) -> Result<Reader, Problem> {
    let Selection { tenant, instance: id, attempt, start, tail, .. } = selection;
    let is_present = attempt == instance.attempt;
    let container = container_of(&app.clusters, instance).filter(|_| is_present);
    let mut archive = app.archive.clone();
    let mut stored = Log::new(tenant, id, attempt);
    if archive.is_some() {
        let mut tx = app.db.tenant(tenant).await?;
        stored = store::find(&mut tx, id, attempt).await?.ok_or_else(Problem::not_found)?;
        let searched = match (&selection.search, tail) {
            (Some(_), None) => store::text_bytes(&mut tx, tenant, (id, attempt), start).await?,
            _ => 0,
        };
        if searched > MAX_SEARCHED {
            let limit = MAX_SEARCHED / 1024 / 1024;
            return Err(Problem::invalid_field(
                "search",
                format!("the log has more than {limit} MiB of text; give a later `since`, or a `tail`"),
            ));
        }
    }
    match (&container, &archive) {
        // the newest lines are in the cluster
        (Some(_), _) if tail.is_some() || stored.position <= start => archive = None,
        (Some(_), _) => {}
        (None, _) if is_present && !stored.has_lines() => return Err(instance::Error::NotRunning.into()),
        (None, None) => return Err(archive_disabled()),
        (None, Some(_)) if !stored.has_lines() => {
            let detail = "No log of this attempt is kept.";
            return Err(Problem::new(ProblemType::NotFound, detail));
        }
        (None, Some(_)) => {}
    }
    let live = container.map(|Container { cluster, pod }| Live {
        cluster,
        pod,
        floor: Position::default(),
        opened: None,
    });
    let is_live = live.is_some();
    let mut reader =
        Reader { app: app.clone(), selection, archive, live, stored, output, sent: start, is_live };
    if reader.archive.is_none() {
        // a failure is a problem response, and not the end of a stream
        reader.open().await?;
    }
    Ok(reader)
}

fn archive_disabled() -> Problem {
    Problem::new(
        ProblemType::LogArchiveDisabled,
        "Without an archive, a log can be read only while its container exists.",
    )
}

impl Reader {
    /// Ends the response after its last line, or after an error. Returns the comment for the client.
    async fn finish(
        &mut self,
        read: Result<(), ReadError>,
        out: &mpsc::Sender<io::Result<Bytes>>,
    ) -> Option<&'static str> {
        match read {
            Err(ReadError::Disconnected) => return None,
            Ok(()) if self.is_live && self.selection.follow => {
                return Some("the container has ended; connect again");
            }
            Ok(()) => {
                self.output.event("end", &json!({}));
                let _ = self.output.flush().await;
                return None;
            }
            Err(error) => {
                tracing::warn!(
                    instance.id = %self.selection.instance, error = %ErrorChain(&error), "log cannot be read on"
                );
            }
        }
        let _ = self.output.flush().await;
        if !self.output.is_events() {
            // so that the client can tell that the text is not complete
            let _ = out.send(Err(io::Error::other("the log broke off"))).await;
        }
        Some("the log cannot be read on now; connect again")
    }
}

/// The kept log of one start of an instance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstanceLog {
    /// Number of the start: the `attempt` of events and of `GET /v1/instances/{id}/log`.
    attempt: i64,
    /// Time of the first line that is kept.
    first_line_at: Timestamp,
    /// Time of the last line that is kept.
    last_line_at: Timestamp,
    /// Number of lines.
    lines: i64,
    /// Bytes of text.
    text_bytes: i64,
    /// Bytes in the object store, compressed.
    stored_bytes: i64,
    /// Whether lines may be missing because the cluster had deleted them before they were collected.
    has_gaps: bool,
}

/// Lists the kept logs of an instance, one for each start, newest first.
#[utoipa::path(
    get, path = "/v1/instances/{id}/logs", operation_id = "list_instance_logs", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), PageParams),
    responses((status = 200, description = "A page of logs", body = Page<InstanceLog>)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::LogArchiveDisabled]))),
)]
pub(crate) async fn list_instance_logs(
    State(app): State<Parts>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<InstanceLog>>, Problem> {
    let request = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let _ = instance::store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    if app.archive.is_none() {
        return Err(archive_disabled());
    }
    let rows = store::kept(&mut tx, member.tenant, id, request.after, request.rows()).await?;
    let page = request.page(rows, |log| log.attempt);
    let time = |time: i64| Position { time, sequence: 0 }.timestamp();
    Ok(Json(page.map(|log| InstanceLog {
        attempt: log.attempt,
        first_line_at: time(log.first_time),
        last_line_at: time(log.last_time),
        lines: log.lines,
        text_bytes: log.text_bytes,
        stored_bytes: log.bytes,
        has_gaps: log.has_gaps,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_time_or_seconds_before_now() {
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(read_since("60", now).unwrap(), Timestamp::from_second(940).unwrap());
        assert_eq!(read_since("1970-01-01T00:00:07Z", now).unwrap(), Timestamp::from_second(7).unwrap());
        for bad in ["", "-1", "yesterday", "1.5", "99999999999"] {
            assert!(read_since(bad, now).is_err(), "{bad}");
        }
    }
}
