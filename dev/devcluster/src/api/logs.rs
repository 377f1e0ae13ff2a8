//! `pods/log`: the log file of a container, with tail, since, limit and follow.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use objects::error::Failure;
use objects::json::text;
use objects::pod::{container, container_status};
use serde_json::Value;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::request::{Query, Target};
use super::text_response;
use crate::hub::Hub;

pub(crate) async fn serve(hub: &Arc<Hub>, target: &Target, query: &Query) -> Result<Response, Failure> {
    let resource = &target.resource;
    let pod = hub
        .store
        .lock()
        .get("pods", &target.namespace, &target.name)
        .ok_or_else(|| resource.not_found(&target.name))?;
    let container = text(&container(&pod.value)["name"]);
    if let Some(asked) = query.get("container").filter(|c| !c.is_empty() && *c != container) {
        return Err(Failure::bad_request(format!("container {asked} is not valid for pod {}", target.name)));
    }
    let previous = query.flag("previous");
    let status = container_status(&pod.value);
    let started = status["state"]["running"].is_object()
        || status["state"]["terminated"].is_object()
        || status["lastState"]["terminated"].is_object();
    if !started {
        let why = match status["state"]["waiting"]["reason"].as_str() {
            Some(reason) => {
                format!("container \"{container}\" in pod \"{}\" is waiting to start: {reason}", target.name)
            }
            None => {
                format!("pod {} does not have a host assigned or its container has not started", target.name)
            }
        };
        return Err(Failure::bad_request(why));
    }
    if previous && !status["lastState"]["terminated"].is_object() {
        let why =
            format!("previous terminated container \"{container}\" in pod \"{}\" not found", target.name);
        return Err(Failure::bad_request(why));
    }
    let path = hub.runtime.log_file(pod.uid(), previous);
    let since = match (query.number("sinceSeconds")?, query.get("sinceTime")) {
        (Some(s), _) => jiff::Timestamp::now().checked_sub(jiff::SignedDuration::from_secs(s)).ok(),
        // passed on to the kubelet in full seconds
        (_, Some(t)) => {
            let time: jiff::Timestamp =
                t.parse().map_err(|_| Failure::bad_request("sinceTime must be RFC 3339"))?;
            jiff::Timestamp::from_second(time.as_second()).ok()
        }
        _ => None,
    };
    let view = View {
        tail: query.number("tailLines")?.and_then(|n| usize::try_from(n).ok()),
        limit: query.number("limitBytes")?.and_then(|n| usize::try_from(n).ok()),
        since,
        timestamps: query.flag("timestamps"),
    };
    // kept open: the file of the next container has the same name
    let mut log = Log { path, file: None };
    let head = log.rest().await?;
    let shown = view.show(&head);
    if !query.flag("follow") || previous {
        return Ok(text_response(shown));
    }
    let follow = Follow {
        hub: hub.clone(),
        uid: pod.uid().to_owned(),
        key: (target.namespace.clone(), target.name.clone()),
        restarts: restarts(&pod.value),
        log,
        view,
        rest: Vec::new(),
        first: Some(shown),
    };
    let body = Body::from_stream(futures::stream::unfold(follow, |mut f| async move {
        f.next().await.map(|b| (Ok::<_, std::convert::Infallible>(b), f))
    }));
    Ok(text_response(body))
}

struct View {
    tail: Option<usize>,
    limit: Option<usize>,
    since: Option<jiff::Timestamp>,
    timestamps: bool,
}

/// Each line of the file is `<RFC 3339 time> <text>`.
impl View {
    fn show(&self, raw: &[u8]) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = raw.split_inclusive(|b| *b == b'\n').collect();
        if let Some(since) = self.since {
            lines.retain(|l| {
                let time = l.split(|b| *b == b' ').next().and_then(|t| std::str::from_utf8(t).ok());
                time.and_then(|t| t.parse::<jiff::Timestamp>().ok()).is_none_or(|t| t >= since)
            });
        }
        if let Some(tail) = self.tail {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let mut out = Vec::with_capacity(raw.len());
        for line in lines {
            let text = if self.timestamps {
                line
            } else {
                line.iter().position(|b| *b == b' ').map_or(line, |i| &line[i + 1..])
            };
            out.extend_from_slice(text);
        }
        if let Some(limit) = self.limit {
            out.truncate(limit);
        }
        out
    }
}

/// The log file of one container.
struct Log {
    path: PathBuf,
    /// Once the container has one.
    file: Option<File>,
}

impl Log {
    /// Reads the output since the last read.
    async fn rest(&mut self) -> Result<Vec<u8>, Failure> {
        let fail = |error: std::io::Error| Failure::internal(format!("reading the log: {error}"));
        let mut bytes = Vec::new();
        if self.file.is_none() {
            self.file = match File::open(&self.path).await {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(fail(error)),
            };
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut bytes).await.map_err(fail)?;
        }
        Ok(bytes)
    }
}

fn restarts(pod: &Value) -> i64 {
    container_status(pod)["restartCount"].as_i64().unwrap_or(0)
}

struct Follow {
    hub: Arc<Hub>,
    uid: String,
    key: (String, String),
    /// Restarts of the pod when the container ran.
    restarts: i64,
    log: Log,
    view: View,
    rest: Vec<u8>,
    first: Option<Vec<u8>>,
}

impl Follow {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            self.view.tail = None;
            return Some(Bytes::from(first));
        }
        loop {
            // checked before the file is read, so that the last lines are not missed
            let over = self.over();
            self.rest.extend(self.log.rest().await.ok()?);
            let whole = if over {
                self.rest.len()
            } else {
                self.rest.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1)
            };
            if whole > 0 {
                let lines: Vec<u8> = self.rest.drain(..whole).collect();
                return Some(Bytes::from(self.view.show(&lines)));
            }
            if over {
                return None;
            }
            let mut grown = self.hub.runtime.follow_log(&self.uid);
            let stop = self.hub.stop.clone();
            tokio::select! {
                () = stop.cancelled() => return None,
                _ = grown.changed() => {}
                // the container may end without another line
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
        }
    }

    fn over(&self) -> bool {
        let tx = self.hub.store.lock();
        tx.get("pods", &self.key.0, &self.key.1).is_none_or(|p| {
            p.uid() != self.uid
                || restarts(&p.value) != self.restarts
                || !container_status(&p.value)["state"]["running"].is_object()
        })
    }
}
