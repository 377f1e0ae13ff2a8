//! `GET /v1/platform/health`: what administrators see of modules that answer, hang, are gone, or have lost a dependency.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use axum::{Json, Router, http::StatusCode, routing::get};
use serde_json::{Value, json};
use service::{Front, Process, health::DependencyKind};
use testkit::{Client, eventually};
use tokio::net::TcpListener;
use url::Url;

use crate::platform::Platform;

const PATH: &str = "/v1/platform/health";
/// A password in the error of a dependency.
const PLANTED: &str = "planted-in-an-error";

/// A replica of a module, whose dependency answers while `answers`.
async fn replica(module: &'static str, answers: &Arc<AtomicBool>) -> Url {
    let process = Process::default().traced(module, None).unwrap();
    let answers = Arc::clone(answers);
    process.health.depends_on("postgres", DependencyKind::Postgres, move || {
        let answers = answers.load(Ordering::SeqCst);
        async move {
            let error = || format!("cannot connect to postgres://app:{PLANTED}@db:5432/atelier: refused");
            answers.then_some(()).ok_or_else(error)
        }
    });
    let front = Front::new(&process, || async { Ok(()) });
    testkit::serve(front.serve(Router::new())).await.parse().unwrap()
}

fn url(port: u16) -> Url {
    format!("http://127.0.0.1:{port}").parse().unwrap()
}

fn module<'a>(health: &'a Value, name: &str) -> &'a Value {
    let modules = health["modules"].as_array().unwrap();
    modules.iter().find(|module| module["name"] == name).unwrap_or_else(|| panic!("no {name} in {health}"))
}

/// Clients of an administrator, and of an ordinary user.
fn admin(platform: &Platform) -> Client {
    platform.client.token(&platform.issuer.admin())
}

#[tokio::test]
async fn each_module_has_the_state_of_its_replicas_and_no_secret_is_shown() {
    let answers = Arc::new(AtomicBool::new(true));
    let other = Arc::new(AtomicBool::new(true));
    let (first, second) = (replica("stock", &answers).await, replica("stock", &other).await);
    let identity = replica("identity", &other).await;
    // connections wait to be accepted
    let hung = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let hung_port = hung.local_addr().unwrap().port();
    let platform = Platform::with(|config| {
        let modules = [
            ("identity", vec![identity]),
            ("stock", vec![first, second]),
            ("gpu", vec![url(hung_port)]),
            ("storage", vec![url(gone)]),
        ];
        config.modules = modules.map(|(name, urls)| (name.to_owned(), urls)).into();
    })
    .await;
    let admin = admin(&platform);
    let begun = Instant::now();
    let health = admin.get(PATH).await.expect(200).body;
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    let states: Vec<_> = health["modules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|module| (module["name"].as_str().unwrap(), module["state"].as_str().unwrap()))
        .collect();
    // the others have no replica that answers
    let state = |name: &str| if ["identity", "stock"].contains(&name) { "ok" } else { "unreachable" };
    let mut expected: Vec<_> =
        ::platform::routed().map(|service| (&*service.name, state(&service.name))).collect();
    expected.sort_unstable();
    assert_eq!(states[1..], expected);
    // its own services are stand-ins
    assert_eq!(states[0].0, "gateway");
    let checked_at: jiff::Timestamp = health["checked_at"].as_str().unwrap().parse().unwrap();
    let checked_at = SystemTime::from(checked_at);
    assert!(checked_at.elapsed().is_ok_and(|age| age < Duration::from_secs(60)), "{health}");
    assert_eq!(health["state"], "unavailable");
    let hung = &module(&health, "gpu")["replicas"][0];
    assert_eq!((&hung["report"], hung["error"].as_str()), (&Value::Null, Some("no answer within 1500 ms")));
    let stock = module(&health, "stock");
    assert_eq!(stock["replicas"].as_array().unwrap().len(), 2);
    let report = &stock["replicas"][0]["report"];
    assert_eq!(
        (report["module"].as_str(), report["version"].as_str()),
        (Some("stock"), Some(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(report["dependencies"][0]["state"], "ok");
    let time = |text: &Value| -> jiff::Timestamp { text.as_str().unwrap().parse().unwrap() };
    assert!(time(&health["checked_at"]) >= time(&report["started_at"]), "{health}");

    answers.store(false, Ordering::SeqCst);
    let health = eventually("the lost dependency is seen", async || {
        let health = admin.get(PATH).await.expect(200);
        assert!(!health.text.contains(PLANTED), "{}", health.text);
        (module(&health.body, "stock")["state"] == "degraded").then_some(health.body)
    })
    .await;
    let stock = module(&health, "stock");
    let message = stock["last_error"]["message"].as_str().unwrap();
    assert_eq!(message, "postgres: cannot connect to postgres://[redacted]@db:5432/atelier: refused");
    let states: Vec<_> = [0, 1].map(|n| stock["replicas"][n]["state"].as_str().unwrap().to_owned()).into();
    assert!(states.contains(&"ok".to_owned()) && states.contains(&"degraded".to_owned()), "{stock}");

    answers.store(true, Ordering::SeqCst);
    eventually("the dependency is back, its last error stays", async || {
        let health = admin.get(PATH).await.expect(200).body;
        let stock = module(&health, "stock");
        (stock["state"] == "ok" && stock["last_error"]["message"].is_string()).then_some(())
    })
    .await;
}

/// A replica that answers `/statusz` with this.
async fn answering(status: StatusCode, body: String) -> Url {
    let routes = Router::new().route("/statusz", get(move || async move { (status, body) }));
    testkit::serve(routes).await.parse().unwrap()
}

#[tokio::test]
async fn a_replica_with_a_useless_answer_is_unreachable_and_hides_no_other() {
    let well = replica("storage", &Arc::new(AtomicBool::new(true))).await;
    let report = Client::new(well.as_str().trim_end_matches('/')).get("/statusz").await.expect(200).text;
    let large = format!("{report}{}", " ".repeat(5 * 1024 * 1024));
    // both addresses of the name are those of one replica
    let by_name = format!("http://localhost:{}", well.port().unwrap()).parse().unwrap();
    let modules = [
        ("identity", vec![answering(StatusCode::INTERNAL_SERVER_ERROR, report).await, well]),
        ("stock", vec![answering(StatusCode::OK, large).await]),
        ("gpu", vec![answering(StatusCode::OK, "{}".to_owned()).await]),
        ("storage", vec![by_name]),
    ];
    let platform = Platform::with(|config| {
        config.modules = modules.map(|(name, urls)| (name.to_owned(), urls)).into();
    })
    .await;
    let health = admin(&platform).get(PATH).await.expect(200).body;
    let errors = |name: &str| -> Vec<Value> {
        let replicas = module(&health, name)["replicas"].as_array().unwrap();
        replicas.iter().map(|replica| replica["error"].clone()).collect()
    };
    assert_eq!(module(&health, "identity")["state"], "degraded", "{health}");
    let refused = json!("the replica answers 500 Internal Server Error");
    assert!(errors("identity").contains(&refused) && errors("identity").contains(&Value::Null), "{health}");
    assert_eq!(errors("stock"), [json!("the answer is too large")]);
    assert_eq!(errors("gpu"), [json!("the answer cannot be read")]);
    assert_eq!((errors("storage"), &module(&health, "storage")["state"]), (vec![Value::Null], &json!("ok")));
}

#[tokio::test]
async fn administrators_only() {
    let platform = Platform::start().await;
    platform.client.get(PATH).await.expect_problem(401, "unauthenticated");
    let refused = platform.member().get(PATH).await.expect_problem(403, "forbidden");
    assert_eq!(refused.str("detail"), "Only platform administrators may do this.");
    let admin = admin(&platform);
    let answer = admin.get(PATH).await.expect(200);
    assert!(answer.header("ratelimit").is_some() && answer.header("x-request-id").is_some());
    admin.post(PATH, json!({})).await.expect_problem(405, "method-not-allowed");
    admin.get("/v1/platform").await.expect_problem(404, "no-such-route");
    // a report has details that the public does not get
    let _ = platform.client.get("/statusz").await.expect(404);
    let internal = Client::new(&format!("http://{}", platform.metrics));
    assert_eq!(internal.get("/statusz").await.expect(200).str("module"), "gateway");
    let scope = auth::required_scope(&axum::http::Method::GET, PATH);
    assert_eq!(scope, Some(auth::Scope::PlatformRead));
}

#[tokio::test]
async fn many_consoles_cost_one_request_a_second() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let report = json!({
        "module": "stock", "state": "ok", "reason": null, "version": "0", "revision": null,
        "started_at": "2026-01-01T00:00:00Z", "lag_seconds": 0.0, "last_error": null,
        "dependencies": [], "workers": [], "queues": [],
    });
    let routes = Router::new().route(
        "/statusz",
        get(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { Json(report) }
        }),
    );
    let stock: Url = testkit::serve(routes).await.parse().unwrap();
    let platform = Platform::with(|config| config.modules = [("stock".to_owned(), vec![stock])].into()).await;
    let admin = admin(&platform);
    let begun = Instant::now();
    let answers = futures::future::join_all((0..50).map(|_| admin.get(PATH))).await;
    for answer in answers {
        let _ = answer.expect(200);
    }
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap();
    let asked = asked.load(Ordering::SeqCst);
    assert!(asked <= 1 + seconds, "{asked} requests in {seconds} s");
}
