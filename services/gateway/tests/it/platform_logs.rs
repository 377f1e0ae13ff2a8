//! `GET /v1/platform/logs`: lines of all replicas, merged and followed.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    extract::{Query, State},
    routing::get,
};
use futures::StreamExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};
use service::recent_logs::{LogLevel, LogLine, LogPage, LogQuery};
use tokio::sync::Notify;
use url::Url;
use uuid::Uuid;

use crate::platform::Platform;

const PATH: &str = "/v1/platform/logs";

/// A stand-in of a replica. What it keeps is tested in `libs/service`.
#[derive(Clone, Default)]
struct Replica {
    lines: Arc<Mutex<Vec<LogLine>>>,
    added: Arc<Notify>,
}

impl Replica {
    async fn start(&self) -> Url {
        async fn logz(State(replica): State<Replica>, Query(query): Query<LogQuery>) -> Json<LogPage> {
            loop {
                let added = replica.added.notified();
                let lines = replica.lines.lock().unwrap().clone();
                let last = u64::try_from(lines.len()).unwrap();
                let first = if query.process.is_some() { usize::try_from(query.after).unwrap() } else { 0 };
                let wanted = |line: &LogLine| {
                    query.level.is_none_or(|level| line.level >= level)
                        && (query.request_id.is_none() || line.request_id == query.request_id)
                };
                let lines: Vec<_> = lines.into_iter().skip(first).filter(wanted).take(query.limit).collect();
                if query.process.is_none() || !lines.is_empty() {
                    return Json(LogPage { process: Uuid::from_u128(1), last, lines });
                }
                added.await;
            }
        }
        let routes = Router::new().route("/logz", get(logz)).with_state(self.clone());
        testkit::serve(routes).await.parse().unwrap()
    }

    fn logs(&self, second: i64, level: LogLevel, message: &str, request: Option<&str>) {
        self.lines.lock().unwrap().push(LogLine {
            time: Timestamp::from_second(second).unwrap(),
            level,
            message: message.to_owned(),
            target: "it".to_owned(),
            request_id: request.map(str::to_owned),
            fields: serde_json::Map::new(),
        });
        self.added.notify_waiters();
    }
}

/// A platform with two replicas of gpu, one of stock, and a storage service that is stopped.
async fn platform() -> (Platform, [Replica; 3]) {
    let replicas = [Replica::default(), Replica::default(), Replica::default()];
    let urls = [replicas[0].start().await, replicas[1].start().await, replicas[2].start().await];
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let platform = Platform::with(|config| {
        let [first, second, stock] = urls;
        config.modules = [
            ("gpu".to_owned(), vec![first, second]),
            ("stock".to_owned(), vec![stock]),
            ("storage".to_owned(), vec![format!("http://{gone}").parse().unwrap()]),
        ]
        .into();
    })
    .await;
    (platform, replicas)
}

fn messages(logs: &Value) -> Vec<(&str, &str)> {
    let items = logs["items"].as_array().unwrap().iter();
    items.map(|item| (item["module"].as_str().unwrap(), item["message"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn lines_of_all_replicas_are_merged_and_filtered() {
    let (platform, [first, second, stock]) = platform().await;
    first.logs(1, LogLevel::Info, "oldest", None);
    stock.logs(2, LogLevel::Error, "claim failed", Some("req_1"));
    second.logs(3, LogLevel::Warn, "start delayed", Some("req_1"));
    first.logs(4, LogLevel::Info, "newest", Some("req_2"));
    let admin = platform.client.token(&platform.issuer.admin());
    let read = async |query: &str| admin.get(&format!("{PATH}{query}")).await.expect(200).body;

    let of_request = read("?request_id=req_1").await;
    assert_eq!(messages(&of_request), [("gpu", "start delayed"), ("stock", "claim failed")]);
    let gpu = read("?module=gpu").await;
    assert_eq!(messages(&gpu), [("gpu", "newest"), ("gpu", "start delayed"), ("gpu", "oldest")]);
    assert_ne!(gpu["items"][0]["replica"], gpu["items"][1]["replica"]);
    assert_eq!(gpu["unreachable"], json!([]));
    assert_eq!(messages(&read("?module=gpu&level=warn").await), [("gpu", "start delayed")]);
    assert_eq!(messages(&read("?module=stock&limit=1").await), [("stock", "claim failed")]);
    let all = read("").await;
    let silent = all["unreachable"].as_array().unwrap();
    assert!(silent.iter().any(|replica| replica["module"] == "storage"), "{all}");

    for wrong in ["?module=nothing", "?level=loud", "?limit=0", "?limit=1001", "?colour=red"] {
        admin.get(&format!("{PATH}{wrong}")).await.expect_problem(422, "invalid-field");
    }
    platform.member().get(PATH).await.expect_problem(403, "forbidden");
    platform.client.get(PATH).await.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn lines_are_followed_as_events_and_each_user_has_a_few_streams() {
    let (platform, [first, second, _]) = platform().await;
    first.logs(1, LogLevel::Info, "before", None);
    first.logs(1, LogLevel::Debug, "not wanted", None);
    let token = platform.issuer.admin();
    let url = format!("{}{PATH}?module=gpu&level=info", platform.client.base());
    let open = async || {
        let request = reqwest::Client::new().get(&url).bearer_auth(&token);
        request.header("accept", "text/event-stream").send().await.unwrap()
    };
    let response = open().await;
    assert_eq!(response.status(), 200);
    let mut events = response.bytes_stream();
    let mut text = String::new();
    for message in ["before", "after", "from another replica"] {
        match message {
            "after" => first.logs(2, LogLevel::Warn, message, None),
            "from another replica" => second.logs(3, LogLevel::Error, message, None),
            _ => {}
        }
        while !text.contains(&format!("\"message\":\"{message}\"")) {
            let part = tokio::time::timeout(std::time::Duration::from_secs(10), events.next());
            text.push_str(std::str::from_utf8(&part.await.expect(message).unwrap().unwrap()).unwrap());
        }
    }
    assert_eq!(text.matches("data: ").count(), 3, "{text}");
    // the maximum number per user
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(open().await);
    }
    let refused = open().await;
    assert_eq!(refused.status(), 429);
    drop(events);
    testkit::eventually("the place of a client that is gone is free", async || {
        (open().await.status() == 200).then_some(())
    })
    .await;
}
