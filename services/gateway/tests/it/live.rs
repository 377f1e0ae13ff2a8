//! `GET /v1/stream`: the streams of the services, joined. That of the real services is in `tests/isolation`.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use api::{Problem, ProblemType};
use auth::{Revocation, Role};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Query, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::get,
};
use ids::TenantId;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use crate::platform::Platform;

const PATH: &str = "/v1/stream";
/// Longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(20);

/// The state of a stand-in service.
#[derive(Clone, Default)]
struct Log {
    /// Types of events, in order; the id of the first is 1.
    events: Vec<String>,
    deleted_to: usize,
    is_away: bool,
    is_forbidden: bool,
}

/// A stand-in of a service with a stream of events. Those of the services are tested with them.
#[derive(Clone, Default)]
struct Service(Arc<watch::Sender<Log>>);

impl Service {
    async fn start(&self) -> url::Url {
        let routes = Router::new()
            .route("/v1/events", get(stream))
            .route("/v1/job-events", get(stream))
            .route("/v1/storage-events", get(stream))
            .route("/v1/stock-events", get(stream))
            .with_state(self.clone());
        testkit::serve(routes).await.parse().unwrap()
    }

    fn tell(&self, kind: &str) {
        self.0.send_modify(|log| log.events.push(kind.to_owned()));
    }

    fn change(&self, change: impl FnOnce(&mut Log)) {
        self.0.send_modify(change);
    }

    fn streams(&self) -> usize {
        self.0.receiver_count()
    }
}

async fn stream(
    State(service): State<Service>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    assert_eq!(headers["accept"], "text/event-stream");
    let log = service.0.subscribe();
    let (begin, refusal) = {
        let log = log.borrow();
        let begin = match headers.get("last-event-id") {
            Some(id) => id.to_str().unwrap().parse().unwrap(),
            None if query.get("after").is_some_and(|after| after == "latest") => log.events.len(),
            None => 0,
        };
        let refusal = if log.is_away {
            Some(Problem::new(ProblemType::Unavailable, "away"))
        } else if log.is_forbidden {
            Some(Problem::forbidden("not you"))
        } else if begin < log.deleted_to {
            Some(Problem::new(ProblemType::EventsDeleted, "deleted"))
        } else {
            None
        };
        (begin, refusal)
    };
    if let Some(refusal) = refusal {
        return refusal.into_response();
    }
    let parts = events(begin, log);
    ([("content-type", "text/event-stream")], Body::from_stream(parts)).into_response()
}

/// Sends the position, then one event at a time, until the service is stopped.
fn events(begin: usize, log: watch::Receiver<Log>) -> impl futures::Stream<Item = Result<Bytes, Infallible>> {
    futures::stream::unfold((None, log), move |(sent, mut log): (Option<usize>, _)| async move {
        let Some(sent) = sent else {
            return Some((Ok(Bytes::from(format!("retry: 1000\nid: {begin}\n\n"))), (Some(begin), log)));
        };
        let kind = {
            let now = log.wait_for(|log| log.is_away || log.events.len() > sent).await.ok()?;
            if now.is_away {
                return None;
            }
            now.events[sent].clone()
        };
        let id = sent + 1;
        let data = json!({ "type": kind, "sequence": id });
        Some((Ok(Bytes::from(format!("id: {id}\nevent: {kind}\ndata: {data}\n\n"))), (Some(id), log)))
    })
}

/// A gateway before stand-ins of gpu, jobs, storage and stock.
async fn platform() -> (Platform, [Service; 4]) {
    let services: [Service; 4] = std::array::from_fn(|_| Service::default());
    let [gpu, jobs, storage, stock] = &services;
    let urls = [gpu.start().await, jobs.start().await, storage.start().await, stock.start().await];
    let platform = Platform::with(|config| {
        for (name, url) in ["gpu", "jobs", "storage", "stock"].into_iter().zip(urls) {
            config.services[name] = url;
        }
    })
    .await;
    platform.ready().await;
    (platform, services)
}

/// A client of the stream.
struct Reader {
    response: reqwest::Response,
    text: String,
    last: Option<String>,
}

async fn request(platform: &Platform, token: &str, query: &str, last: Option<&str>) -> reqwest::Response {
    let url = format!("{}{PATH}{query}", platform.client.base());
    let mut request = reqwest::Client::new().get(url).bearer_auth(token);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.header("accept", "text/event-stream").send().await.unwrap()
}

impl Reader {
    async fn open(platform: &Platform, token: &str, query: &str, last: Option<&str>) -> Self {
        let response = request(platform, token, query, last).await;
        assert_eq!(response.status(), 200);
        Self { response, text: String::new(), last: last.map(str::to_owned) }
    }

    /// The next event; none at the end of the stream. Keeps the position, as a browser does.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                if let Some(id) = field("id: ") {
                    self.last = Some(id.to_owned());
                }
                if let Some(data) = field("data: ") {
                    let data: Value = serde_json::from_str(data).unwrap();
                    assert_eq!(data["type"].as_str(), field("event: "));
                    return Some(data);
                }
            }
            let part = timeout(PATIENCE, self.response.chunk()).await.expect("an event comes").unwrap()?;
            self.text.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    /// The type of the next event, with its number if it has one.
    async fn kind(&mut self) -> String {
        let event = self.next().await.expect("the stream goes on");
        let number = event["sequence"].as_u64().map(|n| format!(" {n}")).unwrap_or_default();
        format!("{}{number}", event["type"].as_str().unwrap())
    }

    /// Reads until the positions of this number of services are known.
    async fn begun(&mut self, sources: usize) {
        while self.last.as_ref().is_none_or(|last| last.split(';').count() < sources) {
            let part = timeout(PATIENCE, self.response.chunk()).await.expect("a position comes").unwrap();
            self.text.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
            let mut ids = self.text.lines().filter_map(|line| line.strip_prefix("id: "));
            self.last = ids.next_back().map(str::to_owned).or(self.last.take());
        }
    }
}

#[tokio::test]
async fn one_stream_has_the_events_of_all_services_and_goes_on_where_it_was_cut() {
    let (platform, [gpu, jobs, storage, stock]) = platform().await;
    let token = platform.issuer.user(TenantId::new(), Role::Viewer);
    gpu.tell("instance.created");
    let mut reader = Reader::open(&platform, &token, "", None).await;
    let opened = reader.next().await.unwrap();
    let topics = json!(["instances", "budgets", "jobs", "storages", "stock", "operations"]);
    assert_eq!(opened, json!({ "type": "stream.opened", "topics": topics }));
    reader.begun(4).await;
    assert_eq!(
        reader.last.as_deref(),
        Some("gpu=1;jobs=0;storage=0;stock=0"),
        "it begins with the next event"
    );
    assert_eq!([&gpu, &jobs, &storage, &stock].map(Service::streams), [1; 4], "one of each service");
    for (service, kind) in
        [(&storage, "storage.created"), (&storage, "operation.changed"), (&stock, "stock.changed")]
    {
        service.tell(kind);
        assert_eq!(reader.next().await.unwrap()["type"], kind);
    }
    jobs.tell("job.submitted");
    assert_eq!(reader.kind().await, "job.submitted 1");
    gpu.tell("budget.reached");
    assert_eq!(reader.kind().await, "budget.reached 2");
    let last = reader.last.clone();
    assert_eq!(last.as_deref(), Some("gpu=2;jobs=1;storage=2;stock=1"));
    drop(reader);
    for n in 0..50 {
        gpu.tell("instance.started");
        if n % 2 == 0 {
            jobs.tell("job.started");
        }
    }
    let mut reader = Reader::open(&platform, &token, "", last.as_deref()).await;
    // disconnects again before all missed events are read
    let (mut of_gpu, mut of_jobs, mut is_cut) = (Vec::new(), Vec::new(), false);
    while of_gpu.len() + of_jobs.len() < 75 {
        let event = reader.next().await.unwrap();
        match event["type"].as_str().unwrap() {
            "instance.started" => of_gpu.push(event["sequence"].as_u64().unwrap()),
            "job.started" => of_jobs.push(event["sequence"].as_u64().unwrap()),
            other => assert_eq!(other, "stream.opened"),
        }
        if of_gpu.len() + of_jobs.len() == 30 && !is_cut {
            is_cut = true;
            reader = Reader::open(&platform, &token, "", reader.last.as_deref()).await;
        }
    }
    assert_eq!(of_gpu, (3..=52).collect::<Vec<_>>());
    assert_eq!(of_jobs, (2..=26).collect::<Vec<_>>());
    testkit::eventually("the streams of the services end with the client's", async || {
        (gpu.streams() + jobs.streams() + storage.streams() + stock.streams() == 4).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_service_that_is_away_is_told_and_caught_up_with_while_others_go_on() {
    let (platform, [gpu, jobs, ..]) = platform().await;
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    let mut reader = Reader::open(&platform, &token, "?topics=jobs,instances", None).await;
    let opened = reader.next().await.unwrap();
    assert_eq!(opened["topics"], json!(["instances", "jobs"]));
    reader.begun(2).await;
    jobs.change(|log| log.is_away = true);
    assert_eq!(reader.next().await.unwrap(), json!({ "type": "stream.away", "topics": ["jobs"] }));
    gpu.tell("budget.reached"); // not requested
    gpu.tell("instance.started");
    assert_eq!(reader.kind().await, "instance.started 2");
    jobs.tell("job.started");
    // a client that connects meanwhile is also notified, and that events may be missing
    let mut late = Reader::open(&platform, &token, "?topics=jobs", None).await;
    assert_eq!(late.kind().await, "stream.opened");
    assert_eq!(late.kind().await, "stream.away");
    jobs.change(|log| log.is_away = false);
    assert_eq!(reader.next().await.unwrap(), json!({ "type": "stream.back", "topics": ["jobs"] }));
    assert_eq!(reader.kind().await, "job.started 1");
    assert_eq!(late.kind().await, "stream.back");
    let reset = late.next().await.unwrap();
    assert_eq!(reset, json!({ "type": "stream.reset", "topics": ["jobs"], "reason": "position_unknown" }));
    jobs.tell("job.succeeded");
    assert_eq!(reader.kind().await, "job.succeeded 2");
    late.begun(1).await;
    assert_eq!(late.kind().await, "job.succeeded 2");
}

#[tokio::test]
async fn events_that_were_deleted_are_told_and_the_others_go_on() {
    const TOPICS: &str = "?topics=instances,budgets,jobs";
    let (platform, [gpu, jobs, ..]) = platform().await;
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    for _ in 0..9 {
        gpu.tell("instance.started");
    }
    jobs.tell("job.submitted");
    gpu.change(|log| log.deleted_to = 5);
    let mut reader = Reader::open(&platform, &token, TOPICS, Some("gpu=3;jobs=0")).await;
    assert_eq!(reader.kind().await, "stream.opened");
    let mut told = [reader.next().await.unwrap(), reader.next().await.unwrap()];
    told.sort_by_key(|event| event["type"] != "job.submitted");
    assert_eq!(told[0]["type"], "job.submitted");
    let reset = json!({
        "type": "stream.reset", "topics": ["instances", "budgets"], "reason": "events_deleted",
    });
    assert_eq!(told[1], reset);
    reader.begun(2).await;
    gpu.tell("instance.stopped");
    assert_eq!(reader.kind().await, "instance.stopped 10");
    assert_eq!(reader.last.as_deref(), Some("gpu=10;jobs=1"));
    // a position without an entry for a service
    let mut reader = Reader::open(&platform, &token, TOPICS, Some("gpu=10")).await;
    assert_eq!(reader.kind().await, "stream.opened");
    assert_eq!(reader.next().await.unwrap()["topics"], json!(["jobs"]));
}

#[tokio::test]
async fn a_caller_gets_what_the_services_show() {
    let (platform, [gpu, jobs, storage, stock]) = platform().await;
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    jobs.change(|log| log.is_forbidden = true);
    let mut reader = Reader::open(&platform, &token, "", None).await;
    let topics = json!(["instances", "budgets", "storages", "stock", "operations"]);
    assert_eq!(reader.next().await.unwrap()["topics"], topics);
    // an administrator without a tenant
    for service in [&gpu, &storage] {
        service.change(|log| log.is_forbidden = true);
    }
    let mut admin = Reader::open(&platform, &platform.issuer.admin(), "", None).await;
    assert_eq!(admin.next().await.unwrap()["topics"], json!(["stock", "units", "operations"]));
    let mut of_stock = Reader::open(&platform, &platform.issuer.admin(), "?topics=stock", None).await;
    assert_eq!(of_stock.kind().await, "stream.opened");
    of_stock.begun(1).await;
    stock.tell("operation.changed");
    stock.tell("unit.changed");
    assert_eq!(of_stock.kind().await, "unit.changed 2");
    assert_eq!(request(&platform, &token, "?topics=units", None).await.status(), 403);
    let refused = request(&platform, &token, "?topics=instances,jobs", None).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    assert!(refused.text().await.unwrap().contains("not you"), "the service's own refusal");
    for query in ["?topics=", "?topics=weather", "?topics=jobs,", "?colour=red"] {
        assert_eq!(request(&platform, &token, query, None).await.status(), 422, "{query}");
    }
    assert_eq!(request(&platform, &token, "", Some("42")).await.status(), 422);
    let client = platform.client.token(&token);
    client.get(PATH).await.expect_problem(422, "invalid-field");
    platform.client.get(PATH).await.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_stream_ends_with_the_rights_and_each_tenant_has_so_many() {
    let (platform, [gpu, ..]) = platform().await;
    let tenant = TenantId::new();
    let claims = platform.issuer.claims(Some((tenant, Role::Member)), false);
    let token = platform.issuer.sign(&claims);
    let mut readers = Vec::new();
    for _ in 0..64 {
        readers.push(Reader::open(&platform, &token, "?topics=instances", None).await);
    }
    let refused = request(&platform, &token, "?topics=instances", None).await;
    assert_eq!(refused.status(), 429);
    let other = platform.issuer.user(TenantId::new(), Role::Member);
    let mut other = Reader::open(&platform, &other, "?topics=instances", None).await;
    assert_eq!(other.kind().await, "stream.opened");
    other.begun(1).await;

    let mut reader = readers.pop().unwrap();
    drop(readers);
    assert_eq!(reader.kind().await, "stream.opened");
    let revoked = Instant::now();
    platform.issuer.revoke(Revocation {
        user_id: Some(claims.sub),
        tenant_id: Some(tenant),
        ..Revocation::default()
    });
    assert_eq!(reader.next().await, None);
    assert!(revoked.elapsed() < Duration::from_secs(1), "{:?}", revoked.elapsed());
    gpu.tell("instance.started");
    assert_eq!(other.kind().await, "instance.started 1");
    testkit::eventually("the streams of the services end", async || (gpu.streams() == 1).then_some(())).await;
}

#[tokio::test]
async fn a_client_that_reads_slowly_makes_the_services_wait() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let endless = move || async move {
        let parts = futures::stream::unfold(counted, |made| async move {
            tokio::task::yield_now().await;
            let id = made.fetch_add(1, Ordering::SeqCst);
            let data = "x".repeat(10_000);
            let event = format!("id: {id}\nevent: instance.started\ndata: \"{data}\"\n\n");
            Some((Ok::<_, Infallible>(Bytes::from(event)), made))
        });
        Body::from_stream(parts)
    };
    let gpu = testkit::serve(Router::new().route("/v1/events", get(endless))).await.parse().unwrap();
    let platform = Platform::with(|config| config.services["gpu"] = gpu).await;
    let token = platform.issuer.user(TenantId::new(), Role::Member);
    let response = request(&platform, &token, "?topics=instances", None).await;
    assert_eq!(response.status(), 200);
    let mut before = 0;
    testkit::eventually("nothing more is made", async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = made.load(Ordering::SeqCst);
        let stands = now > 0 && now == before;
        before = now;
        stands.then_some(())
    })
    .await;
    assert!(before < 5000, "{before}: what is on its way is in the buffers of the sockets");
    drop(response);
}
