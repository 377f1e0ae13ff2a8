//! Watches: the changes of the store's window as lines, with bookmarks.
//!
//! If the window no longer has the requested version, the watch sends an event of type ERROR, also at its start. Clients
//! then list again, as with Kubernetes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, header};
use objects::error::Failure;
use objects::store::{Change, Object, Op, selectors::Selector};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::request::{Query, Target};
use super::table;
use crate::hub::Hub;

struct Watch {
    hub: Arc<Hub>,
    target: Target,
    selector: Selector,
    table: bool,
    bookmarks: bool,
    seen: u64,
    latest: tokio::sync::watch::Receiver<u64>,
    first: Option<Bytes>,
    ends: Instant,
    next_bookmark: Instant,
    over: bool,
}

const BOOKMARK_EVERY: Duration = Duration::from_secs(45);

pub(crate) fn serve(
    hub: &Arc<Hub>,
    request: &Request,
    target: &Target,
    query: &Query,
) -> Result<Response, Failure> {
    let resource = &target.resource;
    let selector = target.selector(query)?;
    let bookmarks = query.flag("allowWatchBookmarks");
    let initial = query.get("sendInitialEvents").is_some_and(|v| v == "true");
    if initial && query.get("resourceVersionMatch") != Some("NotOlderThan") {
        return Err(Failure::bad_request(
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    let asked = query.get("resourceVersion").unwrap_or("");
    let asked: u64 = if asked.is_empty() {
        0
    } else {
        asked
            .parse()
            .map_err(|_| Failure::bad_request(format!("resourceVersion: Invalid value: {asked:?}")))?
    };
    let latest = hub.store.follow(&resource.id);
    let table = table::wanted(request.headers());
    let seconds = query.number("timeoutSeconds")?.filter(|s| *s > 0).unwrap_or(3000);
    let now = Instant::now();
    let mut watch = Watch {
        hub: hub.clone(),
        target: target.clone(),
        selector,
        table,
        bookmarks,
        seen: asked,
        latest,
        first: None,
        ends: now + Duration::from_secs(seconds.unsigned_abs()),
        next_bookmark: now + BOOKMARK_EVERY,
        over: false,
    };
    let tx = hub.store.lock();
    if asked == 0 || initial {
        let mut out = BytesMut::new();
        let everything: Vec<Arc<Object>> = tx
            .list(&resource.id, &target.namespace)
            .filter(|o| watch.selector.matches(&o.value))
            .cloned()
            .collect();
        watch.seen = tx.rv();
        drop(tx);
        for object in everything {
            watch.line(&mut out, "ADDED", &object);
        }
        if initial && bookmarks {
            watch.bookmark(&mut out, true);
        }
        watch.first = Some(out.freeze());
    }
    let body = Body::from_stream(futures::stream::unfold(watch, |mut watch| async move {
        watch.next().await.map(|bytes| (Ok::<_, std::convert::Infallible>(bytes), watch))
    }));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if let Some(first) = self.first.take() {
            // an empty first chunk flushes the headers
            return Some(if first.is_empty() { Bytes::new() } else { first });
        }
        loop {
            self.latest.borrow_and_update();
            let id = self.target.resource.id.clone();
            let changes = self.hub.store.lock().since(&id, self.seen);
            let mut out = BytesMut::new();
            match changes {
                Ok(changes) => {
                    for change in &changes {
                        self.change(&mut out, change);
                        self.seen = change.rv;
                    }
                }
                Err(failure) => {
                    self.over = true;
                    return Some(Bytes::from(format!(
                        "{}\n",
                        json!({ "type": "ERROR", "object": failure.status() })
                    )));
                }
            }
            if !out.is_empty() {
                return Some(out.freeze());
            }
            if Instant::now() >= self.ends {
                return None;
            }
            let wake = if self.bookmarks { self.ends.min(self.next_bookmark) } else { self.ends };
            let stop = self.hub.stop.clone();
            tokio::select! {
                changed = self.latest.changed() => if changed.is_err() { return None },
                () = stop.cancelled() => return None,
                () = tokio::time::sleep_until(wake) => {
                    if self.bookmarks && Instant::now() >= self.next_bookmark {
                        self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
                        let now = self.hub.store.lock();
                        // without changes of this kind, the version moves on
                        if now.since(&id, self.seen).is_ok_and(|c| c.is_empty()) {
                            self.seen = self.seen.max(now.rv());
                        }
                        drop(now);
                        let mut out = BytesMut::new();
                        self.bookmark(&mut out, false);
                        return Some(out.freeze());
                    }
                }
            }
        }
    }

    fn change(&self, out: &mut BytesMut, change: &Change) {
        if !self.target.namespace.is_empty() && change.object.namespace() != self.target.namespace {
            return;
        }
        let hit = |o: &Arc<Object>| self.selector.is_everything() || self.selector.matches(&o.value);
        let is = change.op != Op::Deleted && hit(&change.object);
        let was = change.previous.as_ref().is_some_and(hit);
        let kind = match (was, is) {
            (false, false) => return,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        if kind == "DELETED" && change.op != Op::Deleted {
            // no longer selected: the last selected state, with the version of the change
            let mut value = change.previous.as_ref().map_or(Value::Null, |p| p.value.clone());
            value["metadata"]["resourceVersion"] = change.rv.to_string().into();
            self.line(out, kind, &Object::unstored(change.rv, value));
        } else {
            self.line(out, kind, &change.object);
        }
    }

    fn line(&self, out: &mut BytesMut, kind: &str, object: &Arc<Object>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        if self.table {
            let meta = json!({ "resourceVersion": object.meta("resourceVersion") });
            out.extend_from_slice(
                table::of(&self.target, std::slice::from_ref(object), &meta).to_string().as_bytes(),
            );
        } else {
            out.extend_from_slice(&self.target.present(object));
        }
        out.extend_from_slice(b"}\n");
    }

    fn bookmark(&self, out: &mut BytesMut, initial: bool) {
        let mut meta = json!({ "resourceVersion": self.seen.to_string(), "creationTimestamp": null });
        if initial {
            meta["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let kind = if self.target.new_events { "Event" } else { &self.target.resource.kind };
        let object = json!({ "kind": kind, "apiVersion": self.target.api_version(), "metadata": meta });
        out.extend_from_slice(json!({ "type": "BOOKMARK", "object": object }).to_string().as_bytes());
        out.extend_from_slice(b"\n");
    }
}
