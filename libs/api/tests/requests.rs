//! What the extractors, the request id and the problems look like on the wire.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use atelier_api::{ETag, IfMatch, Json, Path, Problem, ProblemType, Query, request_id};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post, put},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::error::ErrorKind;
use testkit::{Client, TestDb};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    size: Option<u8>,
}

async fn put_thing(if_match: IfMatch, Json(body): Json<Value>) -> Result<(ETag, Json<Value>), Problem> {
    if_match.check(7)?;
    Ok((ETag(8), Json(body)))
}

async fn service() -> Client {
    let routes = Router::new()
        .route("/things", get(async |Query(filter): Query<Filter>| Json(json!(filter.size))))
        .route("/things/{id}", get(async |Path(id): Path<u8>| Json(json!(id))).put(put_thing))
        .route("/echo", post(async |Json(body): Json<Value>| Json(body)))
        .route("/down", put(async || Problem::unavailable("The database", "gone")))
        .route("/secret", get(async || Problem::unauthenticated("No token.")))
        .route("/id", get(async || request_id::current().unwrap().to_str().unwrap().to_owned()))
        .layer(middleware::from_fn(request_id::layer))
        .layer(DefaultBodyLimit::max(64));
    Client::new(&testkit::serve(routes).await)
}

#[tokio::test]
async fn a_number_arrives_as_it_is_or_is_refused() {
    let client = service().await;
    let send = async |number: &str| {
        let request = reqwest::Client::new()
            .post(format!("{}/echo", client.base()))
            .header("content-type", "application/json");
        let answer = request.body(format!("{{\"a\":[{number}]}}")).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for number in
        ["0", "-7", "1.5", "9007199254740993", "18446744073709551615", "-9223372036854775808", "0.1"]
    {
        assert_eq!(send(number).await, (200, format!("{{\"a\":[{number}]}}")));
    }
    for number in
        ["18446744073709551616", "12345678901234567890123", "1e400", "1e-400", "3.14159265358979323846"]
    {
        let (status, text) = send(number).await;
        assert!(
            status == 422 && text.contains("\"/a/0\"") || status == 400 && number == "1e400",
            "{number}: {text}"
        );
    }
}

#[tokio::test]
async fn a_member_that_is_there_twice_is_refused() {
    let client = service().await;
    let send = async |body: &'static str| {
        let request = reqwest::Client::new()
            .post(format!("{}/echo", client.base()))
            .header("content-type", "application/json");
        let answer = request.body(body).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for (body, pointer) in [
        (r#"{"seed":1,"seed":2}"#, "/seed"),
        (r#"{"seed":1,"seed":1}"#, "/seed"),
        (r#"{"a":[{"b":{}},{"b":null,"c":1,"b":{}}]}"#, "/a/1/b"),
        (r#"{"seed":1,"s\u0065ed":2}"#, "/seed"),
        (r#"{"":0,"":{"a":1}}"#, "/"),
        (r#"{"a/b":{"~":0,"~":0}}"#, "/a~1b/~0"),
    ] {
        let (status, text) = send(body).await;
        assert!(status == 422 && text.contains(&format!("\"{pointer}\"")), "{body}: {status} {text}");
    }
    for body in [
        r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#,
        r#"{"a":[{"b":1},{"b":2}],"A":"a\":1,\"a","b":{}}"#,
        r#"{"\u00e9":1,"e\u0301":2}"#,
    ] {
        assert_eq!(send(body).await.0, 200, "{body}");
    }
}

#[tokio::test]
async fn a_change_needs_the_current_etag() {
    let client = service().await;
    let body = json!({ "name": "a" });
    for current in ["\"7\"", "*"] {
        let changed = client.header("if-match", current).put("/things/1", body.clone()).await.expect(200);
        assert_eq!((&changed.body, changed.header("etag")), (&body, Some("\"8\"")));
    }
    for other in ["\"6\"", "7", "\"x\""] {
        let client = client.header("if-match", other);
        client.put("/things/1", body.clone()).await.expect_problem(412, "changed-meanwhile");
    }
    client.put("/things/1", body).await.expect_problem(428, "if-match-required");
}

#[tokio::test]
async fn what_does_not_parse_is_a_problem() {
    let client = service().await;
    assert_eq!(client.get("/things?size=3").await.expect(200).body, 3);
    client.get("/things?size=300").await.expect_problem(422, "invalid-field");
    assert_eq!(client.get("/things/3").await.expect(200).body, 3);
    client.get("/things/x").await.expect_problem(404, "not-found");
    let echo = client.post("/echo", json!({ "a": 1 })).await.expect(200);
    assert_eq!((&echo.body, echo.header("content-type")), (&json!({ "a": 1 }), Some("application/json")));
    client.post("/echo", json!("x".repeat(100))).await.expect_problem(413, "body-too-large");
    client.post("/echo", Value::Null).await.expect_problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn a_problem_says_how_to_go_on() {
    let client = service().await;
    let down = client.put("/down", json!({})).await.expect_problem(503, "unavailable");
    assert_eq!((down.header("retry-after"), down.header("www-authenticate")), (Some("2"), None));
    let secret = client.get("/secret").await.expect_problem(401, "unauthenticated");
    assert_eq!((secret.header("retry-after"), secret.header("www-authenticate")), (None, Some("Bearer")));
    assert!(!down.text.contains("gone"), "the cause is for the log");
}

#[tokio::test]
async fn a_valid_request_id_is_kept_and_another_replaced() {
    let client = service().await;
    for (given, is_kept) in
        [("given-by_caller1", true), ("short", false), ("with a space", false), (&*"x".repeat(65), false)]
    {
        let answer = client.header("x-request-id", given).get("/id").await.expect(200);
        assert_eq!(answer.header("x-request-id"), Some(answer.text.as_str()), "the task has the same id");
        assert_eq!(answer.text == given, is_kept, "{given}");
    }
    assert_eq!(service().await.get("/id").await.expect(200).text.len(), 32);
    assert_eq!(request_id::current(), None);
}

#[tokio::test]
async fn an_error_of_the_database_is_the_problem_that_it_means() {
    let database = TestDb::new();
    let (_, db) = database.open("test", &sqlx::migrate!("tests/migrations")).await;
    for (code, expected) in [
        ("22021", ProblemType::BadRequest),
        ("22P05", ProblemType::BadRequest),
        ("22008", ProblemType::BadRequest),
        ("08006", ProblemType::Unavailable),
        ("08P01", ProblemType::Unavailable),
        ("25006", ProblemType::Unavailable),
        ("25P03", ProblemType::Unavailable),
        ("28P01", ProblemType::Unavailable),
        ("3D000", ProblemType::Unavailable),
        ("40001", ProblemType::Unavailable),
        ("53300", ProblemType::Unavailable),
        ("57014", ProblemType::Unavailable),
        ("57P01", ProblemType::Unavailable),
        ("57P02", ProblemType::Unavailable),
        ("57P03", ProblemType::Unavailable),
        ("58030", ProblemType::Unavailable),
        ("25P02", ProblemType::Internal),
        ("42P01", ProblemType::Internal),
        ("23505", ProblemType::Internal),
    ] {
        let failing = format!("do $$ begin raise exception 'no' using errcode = '{code}'; end $$");
        let mut tx = db.worker().await.unwrap();
        let error = sqlx::raw_sql(sqlx::AssertSqlSafe(failing)).execute(&mut *tx).await.unwrap_err();
        let problem = Problem::from(error);
        assert!(problem.is(expected), "{code}: {problem}");
        let has_cause = std::error::Error::source(&problem).is_some();
        assert_eq!(has_cause, expected != ProblemType::BadRequest, "{code}");
    }
    for (error, expected) in [
        (sqlx::Error::PoolTimedOut, ProblemType::Unavailable),
        (sqlx::Error::PoolClosed, ProblemType::Unavailable),
        (sqlx::Error::BeginFailed, ProblemType::Unavailable),
        (sqlx::Error::WorkerCrashed, ProblemType::Unavailable),
        (sqlx::Error::Protocol("unexpected response from SSLRequest: 0x45".into()), ProblemType::Unavailable),
        (sqlx::Error::Tls("the peer closed".into()), ProblemType::Unavailable),
        (std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into(), ProblemType::Unavailable),
        (sqlx::Error::Decode("no such state".into()), ProblemType::Unreadable),
        (sqlx::Error::RowNotFound, ProblemType::Internal),
    ] {
        let text = error.to_string();
        let problem = Problem::from(error);
        assert!(problem.is(expected), "{text}: {problem}");
    }
}

#[tokio::test]
async fn a_violated_constraint_has_a_meaning() {
    let database = TestDb::new();
    let (_, db) = database.open("test", &sqlx::migrate!("tests/migrations")).await;
    let violating = "insert into idempotency_keys (scope, key, request_hash, status, headers)
                     select 's', 'k', '', 200, '{}' from generate_series(1, 2)";
    for (kind, expected) in [
        (ErrorKind::UniqueViolation, ProblemType::NameTaken),
        (ErrorKind::ForeignKeyViolation, ProblemType::Internal),
    ] {
        let mut tx = db.worker().await.unwrap();
        let error = sqlx::query(violating).execute(&mut *tx).await.unwrap_err();
        let problem = Problem::violated(kind, || Problem::new(ProblemType::NameTaken, "taken"))(error);
        assert!(problem.is(expected), "{problem}");
    }
}
