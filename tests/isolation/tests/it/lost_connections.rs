//! Connections to Postgres that are lost in the middle of requests: the platform is not available for a moment, and says so.

use std::{collections::BTreeMap, sync::Arc};

use crate::support::{PASSWORD, Person, Platform};
use futures::{FutureExt as _, future::join_all};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Client, DatabaseProxy, Response, TestDb, eventually};
use tokio::sync::watch;
use uuid::Uuid;

/// Requests of each reader: several tables of each service.
const READS: [&str; 10] = [
    "/v1/me",
    "/v1/instances?limit=20",
    "/v1/storages?limit=20",
    "/v1/stock?limit=20",
    "/v1/gpu-specs",
    "/v1/ssh-keys",
    "/v1/usage",
    "/v1/quota",
    "/v1/events",
    "/v1/api-keys",
];
/// Rounds over all reads, by each reader.
const ROUNDS: usize = 18;
const READERS: usize = 4;
/// Writes of each kind.
const WRITES: usize = 12;
/// Answers between two losses: more than requests are under way, so that some succeed.
const BETWEEN_LOSSES: usize = 20;

/// What was answered, by status and type.
type Answers = BTreeMap<String, usize>;

fn count(answers: &mut Answers, all: &watch::Sender<usize>, request: &str, answer: &Response) {
    let kind = answer.body["type"].as_str().and_then(|kind| kind.rsplit('/').next());
    let kind = kind.map_or_else(|| answer.status.to_string(), |kind| format!("{} {kind}", answer.status));
    match answer.status {
        200..300 => {}
        503 => assert!(answer.header("retry-after").is_some(), "{request}: {}", answer.text),
        _ => assert_eq!(
            answer.body["type"], "https://atelier.dev/problems/idempotency-key-in-use",
            "{request}: {kind}: {}",
            answer.text
        ),
    }
    *answers.entry(kind).or_default() += 1;
    all.send_modify(|all| *all += 1);
}

/// Reads as a member of a tenant.
async fn read(client: Client, all: &watch::Sender<usize>) -> Answers {
    let mut answers = Answers::new();
    for path in READS.iter().cycle().take(ROUNDS * READS.len()) {
        let answer = client.get(path).await;
        count(&mut answers, all, path, &answer);
    }
    answers
}

/// Creates `WRITES` resources, each with one key, which is repeated until the outcome is known.
async fn write(
    client: Client,
    all: &watch::Sender<usize>,
    path: &'static str,
    body: impl Fn(usize) -> Value,
) -> Answers {
    let mut answers = Answers::new();
    for number in 0..WRITES {
        let (body, client) = (body(number), client.key(&Uuid::new_v4().to_string()));
        eventually("the write is carried out", async || {
            let answer = client.send(Method::POST, path, &body).await;
            count(&mut answers, all, path, &answer);
            (answer.status < 300).then_some(())
        })
        .await;
    }
    answers
}

/// Uses all services while `lose` ends the connections of the platform to Postgres, again and again.
async fn use_while(platform: &Platform, lose: impl AsyncFn()) -> Answers {
    let tenant = platform.admin.post("/v1/tenants", json!({ "name": "studio" })).await.expect(201);
    let person = Person::create(platform, tenant.str("id"), "ann@studio.test", "owner").await;
    let member = platform.gateway.token(&person.token);
    for path in READS {
        let _ = member.get(path).await.expect(200);
    }
    let admin = &platform.admin;
    let all = watch::Sender::new(0);
    let readers = (0..READERS).map(|_| read(member.clone(), &all).boxed_local());
    let writers = [
        write(admin.clone(), &all, "/v1/tenants", |n| json!({ "name": format!("tenant-{n}") })).boxed_local(),
        write(
            admin.clone(),
            &all,
            "/v1/datacenters",
            |n| json!({ "name": format!("dc-{n}"), "region": "uk", "cluster": "main" }),
        )
        .boxed_local(),
        write(admin.clone(), &all, "/v1/storage-specs", |n| {
            json!({ "name": format!("spec-{n}"), "kind": "bucket", "min_size_gib": 1, "max_size_gib": 100,
                "price_per_gib_month": "0.10", "currency": "EUR" })
        })
        .boxed_local(),
        write(
            member.clone(),
            &all,
            "/v1/storages",
            |n| json!({ "name": format!("bucket-{n}"), "storage_spec": "archive", "size_gib": 1 }),
        )
        .boxed_local(),
        write(
            platform.gateway.clone(),
            &all,
            "/v1/sessions",
            |_| json!({ "email": person.email, "password": PASSWORD, "tenant_id": person.tenant }),
        )
        .boxed_local(),
    ];
    let losses = async {
        let mut all = all.subscribe();
        for loss in 1.. {
            let _ = all.wait_for(|all| *all >= loss * BETWEEN_LOSSES).await;
            lose().await;
        }
    };
    let answers = tokio::select! {
        answers = join_all(readers.chain(writers)) => answers,
        () = losses => unreachable!("connections are lost until all is done"),
    };
    let mut sum = Answers::new();
    for (kind, times) in answers.into_iter().flatten() {
        *sum.entry(kind).or_default() += times;
    }
    // what was written exists once: names are unique
    for (path, prefix) in
        [("/v1/tenants", "tenant-"), ("/v1/datacenters", "dc-"), ("/v1/storage-specs", "spec-")]
    {
        let list = eventually("the list can be read", async || {
            let list = platform.admin.get(&format!("{path}?limit=200")).await;
            (list.status == 200).then_some(list)
        })
        .await;
        let names = list.body["items"].as_array().unwrap().iter().filter_map(|item| item["name"].as_str());
        assert_eq!(names.filter(|name| name.starts_with(prefix)).count(), WRITES, "{path}");
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_whose_connection_postgres_terminates_are_answered_503() {
    let platform = Platform::start().await;
    let conn = tokio::sync::Mutex::new(platform.db.admin().await);
    let answers = use_while(&platform, async || {
        let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity
            where datname = current_database() and usename like 'atelier_%'";
        let _: i64 = sqlx::query_scalar(terminate).fetch_one(&mut *conn.lock().await).await.unwrap();
    })
    .await;
    assert!(answers.get("503 unavailable").is_some_and(|times| *times > 5), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_whose_connection_to_postgres_is_cut_are_answered_503() {
    let db = TestDb::new();
    let proxy = DatabaseProxy::start(db.upstream()).await;
    let platform = Platform::on(Arc::new(db.behind(&proxy))).await;
    let answers = use_while(&platform, async || proxy.cut()).await;
    assert!(answers.get("503 unavailable").is_some_and(|times| *times > 5), "{answers:?}");
}
