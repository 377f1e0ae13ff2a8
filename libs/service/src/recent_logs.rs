//! The newest lines that this process has logged, for the logs of the platform (`/logz`). Each level has its
//! own limit, so that many lines of one level do not displace the few of another. Secrets are removed when
//! lines are read, as from texts of health.

use std::{
    collections::VecDeque,
    io,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::timeout};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::health::redact;

/// Lines that are kept of each level.
const LINES: usize = 1000;
/// Bytes of lines that are kept of each level.
const BYTES: usize = 512 * 1024;
/// Longest line, in bytes. Of a longer one only its message is kept, up to this length.
const LONGEST: usize = 16 * 1024;
/// How long a reader waits for the next line.
const WAIT: Duration = Duration::from_secs(15);

/// The lines of this process.
static OF_PROCESS: LazyLock<RecentLogs> = LazyLock::new(RecentLogs::default);

/// How important a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Steps of a computation.
    Trace,
    /// What a developer looks at.
    Debug,
    /// What happened.
    Info,
    /// Something that heals, or that somebody should look at some day.
    Warn,
    /// Something that needs a person.
    Error,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::TRACE => Self::Trace,
            Level::DEBUG => Self::Debug,
            Level::INFO => Self::Info,
            Level::WARN => Self::Warn,
            Level::ERROR => Self::Error,
        }
    }
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// When it was logged.
    pub time: Timestamp,
    /// How important it is.
    pub level: LogLevel,
    /// What happened.
    pub message: String,
    /// The part of the program.
    pub target: String,
    /// The request that it belongs to, if it belongs to one.
    pub request_id: Option<String>,
    /// What else is known, by name.
    #[schema(value_type = Object)]
    pub fields: Map<String, Value>,
}

impl LogLine {
    /// Reads a line as [`crate::start_logging`] writes it.
    fn parse(text: &str) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_str(text).ok()?;
        let mut take = |name| match fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let time = take("timestamp")?.parse().ok()?;
        let level = LogLevel::from(take("level")?.parse::<Level>().ok()?);
        let (message, target) = (take("message").unwrap_or_default(), take("target").unwrap_or_default());
        let mut request_id = None;
        if let Some(Value::Object(span)) = fields.remove("span") {
            for (name, value) in span {
                match (name.as_str(), value) {
                    ("name", _) => {}
                    ("request.id", Value::String(id)) => request_id = Some(id).filter(|id| !id.is_empty()),
                    (_, value) => {
                        fields.entry(name).or_insert(value);
                    }
                }
            }
        }
        Some(Self { time, level, message, target, request_id, fields })
    }

    fn without_secrets(mut self) -> Self {
        self.message = redact::without_secrets(&self.message);
        for value in self.fields.values_mut() {
            if let Value::String(text) = value {
                *text = redact::without_secrets(text);
            }
        }
        self
    }
}

/// The lines that a reader requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogQuery {
    /// Lines of this level and of more important ones; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// Lines of this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The most lines.
    pub limit: usize,
    /// The process and the number of the last line that the reader has: returns the next ones, the oldest
    /// first, and waits for them. Another process begins with its newest lines. Without it, returns the
    /// newest lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Uuid>,
    #[serde(default)]
    pub after: u64,
}

/// Lines of a process, the oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogPage {
    /// The process. It is another one after a restart.
    pub process: Uuid,
    /// Number up to which the reader has all lines.
    pub last: u64,
    /// The lines.
    pub lines: Vec<LogLine>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<(u64, String)>,
    bytes: usize,
}

/// The newest lines of a process.
#[derive(Debug)]
pub struct RecentLogs {
    process: Uuid,
    /// By level.
    kept: Mutex<[Kept; 5]>,
    /// Number of the newest line.
    last: watch::Sender<u64>,
}

impl Default for RecentLogs {
    fn default() -> Self {
        Self { process: Uuid::new_v4(), kept: Mutex::default(), last: watch::Sender::new(0) }
    }
}

impl RecentLogs {
    /// The lines of this process.
    #[must_use]
    pub fn of_process() -> &'static Self {
        &OF_PROCESS
    }

    fn kept(&self) -> MutexGuard<'_, [Kept; 5]> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, level: LogLevel, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else { return };
        let text = if text.len() > LONGEST { shortened(text) } else { text.to_owned() };
        let mut all = self.kept();
        let number = *self.last.borrow() + 1;
        if let Some(kept) = all.get_mut(level as usize) {
            kept.bytes += text.len();
            kept.lines.push_back((number, text));
            while kept.lines.len() > LINES || kept.bytes > BYTES {
                let Some((_, oldest)) = kept.lines.pop_front() else { break };
                kept.bytes -= oldest.len();
            }
        }
        self.last.send_replace(number);
    }

    /// Returns the lines of a query. Waits for the next line if the query asks for later ones.
    pub async fn read(&self, query: &LogQuery) -> LogPage {
        let follows = query.process == Some(self.process);
        let mut last = self.last.subscribe();
        let waiting = async {
            let mut after = query.after;
            loop {
                let page = self.page(query, follows.then_some(after));
                if !follows || !page.lines.is_empty() {
                    return page;
                }
                after = page.last;
                if last.wait_for(|last| *last > after).await.is_err() {
                    return page;
                }
            }
        };
        match timeout(WAIT, waiting).await {
            Ok(page) => page,
            Err(_) => LogPage { process: self.process, last: *self.last.borrow(), lines: Vec::new() },
        }
    }

    /// The lines after `after`, the oldest first, or the newest ones.
    fn page(&self, query: &LogQuery, after: Option<u64>) -> LogPage {
        let (mut numbered, end) = {
            let all = self.kept();
            let levels = all.iter().skip(query.level.map_or(0, |level| level as usize));
            let lines = levels.flat_map(|kept| {
                kept.lines.iter().rev().take_while(|(number, _)| after.is_none_or(|after| *number > after))
            });
            (lines.cloned().collect::<Vec<_>>(), *self.last.borrow())
        };
        numbered.sort_unstable_by_key(|(number, _)| *number);
        let of_request = |line: &LogLine| query.request_id.is_none() || line.request_id == query.request_id;
        let parsed =
            |(number, text): &(u64, String)| Some((*number, LogLine::parse(text).filter(of_request)?));
        let found: Vec<_> = match after {
            Some(_) => numbered.iter().filter_map(parsed).take(query.limit).collect(),
            None => {
                let mut newest: Vec<_> = numbered.iter().rev().filter_map(parsed).take(query.limit).collect();
                newest.reverse();
                newest
            }
        };
        // a full page may not be the last one
        let last = match found.last() {
            Some((number, _)) if after.is_some() && found.len() == query.limit => *number,
            _ => end,
        };
        let lines = found.into_iter().map(|(_, line)| line.without_secrets()).collect();
        LogPage { process: self.process, last, lines }
    }
}

/// The message of a line that is too long.
fn shortened(text: &str) -> String {
    let Some(mut line) = serde_json::from_str::<Map<String, Value>>(text).ok() else { return String::new() };
    line.retain(|name, _| ["timestamp", "level", "message", "target", "span"].contains(&name.as_str()));
    if let Some(Value::String(message)) = line.get_mut("message") {
        message.truncate(message.floor_char_boundary(LONGEST));
    }
    line.insert("is_shortened".to_owned(), true.into());
    Value::Object(line).to_string()
}

/// Writes lines to standard error, and keeps the newest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer {
    logs: &'static RecentLogs,
    level: LogLevel,
}

impl Writer {
    pub(crate) fn of_process() -> Self {
        Self { logs: RecentLogs::of_process(), level: LogLevel::Info }
    }
}

impl io::Write for Writer {
    /// Takes a whole line: that is how `tracing_subscriber` writes.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.logs.add(self.level, line);
        io::stderr().write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl<'a> MakeWriter<'a> for Writer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self {
        Self { logs: self.logs, level: (*metadata.level()).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: &str, message: &str, rest: &str) -> String {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:00.000001Z","level":"{level}","message":"{message}","target":"gpu"{rest}}}"#
        )
    }

    fn newest(limit: usize) -> LogQuery {
        LogQuery { limit, ..LogQuery::default() }
    }

    fn messages(page: &LogPage) -> Vec<&str> {
        page.lines.iter().map(|line| line.message.as_str()).collect()
    }

    #[tokio::test]
    async fn many_lines_of_a_level_do_not_displace_those_of_another() {
        let logs = RecentLogs::default();
        logs.add(LogLevel::Error, line("ERROR", "first", "").as_bytes());
        for n in 0..3 * LINES {
            logs.add(LogLevel::Info, line("INFO", &format!("n{n}"), "").as_bytes());
        }
        let all = logs.read(&newest(10_000)).await;
        assert_eq!((all.lines.len(), messages(&all)[0]), (LINES + 1, "first"));
        assert_eq!(messages(&logs.read(&newest(2)).await), ["n2998", "n2999"]);
        let errors = LogQuery { level: Some(LogLevel::Warn), ..newest(10) };
        assert_eq!(messages(&logs.read(&errors).await), ["first"]);
        // large lines
        for n in 0..100 {
            logs.add(LogLevel::Info, line("INFO", &format!("{n}{}", "é".repeat(LONGEST)), "").as_bytes());
        }
        assert!(logs.kept()[LogLevel::Info as usize].bytes <= BYTES);
        let large = logs.read(&newest(1)).await;
        assert_eq!(large.lines[0].fields["is_shortened"], true);
    }

    #[tokio::test]
    async fn a_line_has_its_request_and_no_secret() {
        let logs = RecentLogs::default();
        let span = r#","error":"password=hunter22 is wrong","span":{"name":"request","request.id":"req_1","http.method":"GET"}"#;
        logs.add(LogLevel::Warn, line("WARN", "refused with Bearer abcdef123", span).as_bytes());
        logs.add(LogLevel::Warn, line("WARN", "other", "").as_bytes());
        let of_request = LogQuery { request_id: Some("req_1".into()), ..newest(10) };
        let page = logs.read(&of_request).await;
        assert_eq!(messages(&page), ["refused with Bearer [redacted]"]);
        assert_eq!(
            serde_json::to_value(&page.lines[0].fields).unwrap(),
            serde_json::json!({ "error": "password=[redacted] is wrong", "http.method": "GET" })
        );
    }

    #[tokio::test]
    async fn a_reader_gets_each_line_once_and_waits_for_the_next() {
        let logs = std::sync::Arc::new(RecentLogs::default());
        let add = |n: usize| logs.add(LogLevel::Info, line("INFO", &format!("n{n}"), "").as_bytes());
        add(0);
        let mut page = logs.read(&newest(10)).await;
        for n in 1..=7 {
            add(n);
        }
        let mut read = Vec::new();
        while read.len() < 7 {
            let query = LogQuery { process: Some(page.process), after: page.last, ..newest(3) };
            page = logs.read(&query).await;
            read.extend(messages(&page).into_iter().map(str::to_owned));
        }
        assert_eq!(read, ["n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
        let query = LogQuery { process: Some(page.process), after: page.last, ..newest(3) };
        let waiting = tokio::spawn({
            let (logs, query) = (std::sync::Arc::clone(&logs), query.clone());
            async move { logs.read(&query).await }
        });
        tokio::task::yield_now().await;
        add(8);
        assert_eq!(messages(&waiting.await.unwrap()), ["n8"]);
        // after a restart
        let restarted = RecentLogs::default();
        restarted.add(LogLevel::Info, line("INFO", "anew", "").as_bytes());
        assert_eq!(messages(&restarted.read(&query).await), ["anew"]);
    }
}
