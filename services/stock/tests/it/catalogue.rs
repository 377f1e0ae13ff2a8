//! Datacenters and specifications: making, reading, changing, deleting, and every way to be refused.

use auth::Role;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::fixture::{Fixture, spec};

#[tokio::test]
async fn a_specification_is_created_changed_and_deleted() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let admin = &replica.admin;

    let made = admin.post("/v1/gpu-specs", spec("3080-small-4-1", "0.20")).await.expect(201);
    let id = made.str("id");
    let path = format!("/v1/gpu-specs/{id}");
    assert_eq!(made.header("location"), Some(path.as_str()));
    assert_eq!(made.str("price_per_hour"), "0.2");
    assert_eq!(
        made.str("summary"),
        "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage"
    );

    let read = admin.get(&path).await.expect(200);
    assert_eq!(read.body, made.body);
    let etag = read.header("etag").unwrap().to_owned();

    // a new price is history, the same one is not
    let dearer = admin.patch(&path, &etag, json!({ "price_per_hour": "0.25" })).await.expect(200);
    assert_eq!(dearer.str("price_per_hour"), "0.25");
    let next = dearer.header("etag").unwrap().to_owned();
    let same = admin.patch(&path, &next, json!({ "price_per_hour": "0.250" })).await.expect(200);
    let prices = admin.get(&format!("{path}/prices")).await.expect(200);
    let items = prices.body["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{}", prices.text);
    assert_eq!((&items[0]["price_per_hour"], &items[0]["effective_until"]), (&json!("0.25"), &Value::Null));
    assert_eq!(items[1]["price_per_hour"], "0.2");
    assert_eq!(items[1]["effective_until"], items[0]["effective_from"]);
    let first = admin.get(&format!("{path}/prices?limit=1")).await.expect(200);
    let cursor = first.str("next_cursor");
    let second = admin.get(&format!("{path}/prices?limit=1&cursor={cursor}")).await.expect(200);
    assert_eq!(second.body["items"][0], items[1]);

    // whoever has not seen the newest version changes nothing
    admin
        .patch(&path, &etag, json!({ "price_per_hour": "9" }))
        .await
        .expect_problem(412, "changed-meanwhile");
    admin
        .send("PATCH".parse().unwrap(), &path, &json!({ "price_per_hour": "9" }))
        .await
        .expect_problem(428, "if-match-required");

    // units stand in the way of everything but price and state
    let _ = replica.datacenter("uk-1").await;
    fixture.units("3080-small-4-1", "uk-1", 2).await;
    let etag = same.header("etag").unwrap().to_owned();
    admin.patch(&path, &etag, json!({ "cpu_millis": 8000 })).await.expect_problem(409, "gpu-spec-in-use");
    admin.delete(&path).await.expect_problem(409, "gpu-spec-in-use");
    let retired =
        admin.patch(&path, &etag, json!({ "state": "retired", "price_per_hour": "0.1" })).await.expect(200);
    assert_eq!(retired.str("state"), "retired");
    let more = json!({ "gpu_spec": "3080-small-4-1", "datacenter": "uk-1", "count": 1 });
    admin.post("/v1/stock/additions", more).await.expect_problem(409, "gpu-spec-retired");

    fixture.sql("delete from stock.units").await;
    let _ = admin.delete(&path).await.expect(204);
    admin.get(&path).await.expect_problem(404, "not-found");
    admin.delete(&path).await.expect_problem(404, "not-found");
    assert_eq!(fixture.count("select count(*) from stock.gpu_spec_prices").await, 0);
}

#[tokio::test]
async fn a_datacenter_is_created_changed_and_deleted() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let admin = &replica.admin;
    let body =
        json!({ "name": "uk-1", "region": "uk", "cluster": "main", "labels": { "atelier.dev/tier": "a" } });
    let made = admin.post("/v1/datacenters", body.clone()).await.expect(201);
    let path = format!("/v1/datacenters/{}", made.str("id"));
    admin.post("/v1/datacenters", body).await.expect_problem(409, "name-taken");

    let etag = made.header("etag").unwrap().to_owned();
    let draining = admin.patch(&path, &etag, json!({ "state": "draining" })).await.expect(200);
    assert_eq!(draining.str("state"), "draining");
    assert_eq!(draining.body["labels"]["atelier.dev/tier"], "a");
    let _ = replica.spec("a", "1").await;
    let more = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 1 });
    admin.post("/v1/stock/additions", more).await.expect_problem(409, "datacenter-draining");

    fixture.units("a", "uk-1", 1).await;
    let etag = draining.header("etag").unwrap().to_owned();
    admin.delete(&path).await.expect_problem(409, "datacenter-in-use");
    admin.patch(&path, &etag, json!({ "name": "uk-2" })).await.expect_problem(409, "datacenter-in-use");
    let other = replica.datacenter("uk-2").await;
    fixture.sql("delete from stock.units").await;
    admin.patch(&path, &etag, json!({ "name": "uk-2" })).await.expect_problem(409, "name-taken");
    let _ = admin.patch(&path, "*", json!({ "name": "uk-3", "state": "active" })).await.expect(200);
    let _ = admin.delete(&path).await.expect(204);
    let page = admin.get("/v1/datacenters").await.expect(200);
    assert_eq!(page.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(page.body["items"][0]["id"], other);
}

#[tokio::test]
async fn lists_are_searched_and_paged_by_name() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    for name in ["3080-a", "3080-b", "3080-c", "4090-a", "308-x"] {
        let _ = replica.spec(name, "1").await;
    }
    let admin = &replica.admin;
    let names = |body: &Value| -> Vec<String> {
        body["items"].as_array().unwrap().iter().map(|i| i["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut seen = Vec::new();
    let mut path = "/v1/gpu-specs?name_prefix=3080&limit=2".to_owned();
    loop {
        let page = admin.get(&path).await.expect(200);
        assert!(page.body["items"].as_array().unwrap().len() <= 2);
        seen.extend(names(&page.body));
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        path = format!("/v1/gpu-specs?name_prefix=3080&limit=2&cursor={cursor}");
    }
    assert_eq!(seen, ["3080-a", "3080-b", "3080-c"]);
    let all = admin.get("/v1/gpu-specs").await.expect(200);
    assert_eq!(names(&all.body), ["308-x", "3080-a", "3080-b", "3080-c", "4090-a"]);
    for (query, count) in [
        ("gpu_model=NVIDIA-GeForce-RTX-3080", 5),
        ("gpu_model=other", 0),
        ("state=retired", 0),
        ("state=active&name_prefix=4", 1),
        ("name_prefix=~", 0),
        ("name_prefix=%25", 0),
    ] {
        let page = admin.get(&format!("/v1/gpu-specs?{query}")).await.expect(200);
        assert_eq!(page.body["items"].as_array().unwrap().len(), count, "{query}");
    }
    for query in ["limit=0", "limit=201", "limit=x", "limit=-1", "cursor=nonsense", "state=odd", "unknown=1"]
    {
        admin.get(&format!("/v1/gpu-specs?{query}")).await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test]
async fn an_invalid_field_is_refused_with_its_pointer() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let with = |name: &str, value: Value| {
        let mut body = spec("good", "0.2");
        body[name] = value;
        body
    };
    for (body, pointer) in [
        (with("name", json!("Big")), "/name"),
        (with("name", json!("x".repeat(64))), "/name"),
        (with("name", json!(7)), "/name"),
        (with("name", Value::Null), "/name"),
        (with("gpu_model", json!("RTX 3080")), "/gpu_model"),
        (with("gpu_count", json!(0)), "/gpu_count"),
        (with("gpu_count", json!(-1)), "/gpu_count"),
        (with("gpu_count", json!(1.5)), "/gpu_count"),
        (with("gpu_count", json!(65)), "/gpu_count"),
        (with("gpu_count", json!(99_999_999_999_i64)), "/gpu_count"),
        (with("memory_mib", json!(i64::MAX)), "/memory_mib"),
        (with("disk_gib", json!("50")), "/disk_gib"),
        (with("price_per_hour", json!(0.2)), "/price_per_hour"),
        (with("price_per_hour", json!("-1")), "/price_per_hour"),
        (with("price_per_hour", json!("0.0000001")), "/price_per_hour"),
        (with("price_per_hour", json!("1e3")), "/price_per_hour"),
        (with("price_per_hour", json!("9999999999999999999999999999")), "/price_per_hour"),
        (with("currency", json!("usd")), "/currency"),
        (with("allocation", json!({ "kind": "magic" })), "/allocation/kind"),
        (with("allocation", json!({ "kind": "device" })), "/allocation"),
        (with("allocation", json!({ "kind": "device", "resource": "a b" })), "/allocation/resource"),
        (with("allocation", json!({ "kind": "hami", "memory_mib": 1, "cores": 101 })), "/allocation/cores"),
        (with("node_selector", json!({ "a b": "c" })), "/node_selector/a b"),
        (with("unknown", json!(1)), "/unknown"),
    ] {
        let answer =
            replica.admin.post("/v1/gpu-specs", body.clone()).await.expect_problem(422, "invalid-field");
        let at = answer.body["errors"][0]["pointer"].as_str().unwrap();
        assert!(
            pointer.starts_with(at) && !at.is_empty() || at == pointer,
            "{at} instead of {pointer}: {body}"
        );
    }
    for (body, pointer) in [
        (json!({ "name": "UK-1", "region": "uk", "cluster": "main" }), "/name"),
        (json!({ "name": "uk-1", "region": "", "cluster": "main" }), "/region"),
        (json!({ "name": "uk-1", "region": "uk", "cluster": "moon" }), "/cluster"),
        (json!({ "name": "uk-1", "region": "uk", "cluster": "main", "labels": { "-": "" } }), "/labels/-"),
    ] {
        let answer = replica.admin.post("/v1/datacenters", body).await.expect_problem(422, "invalid-field");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer);
    }
    for id in [
        "spec_00",
        "nonsense",
        "dc_01939f0a7c3d7e6b8a1f4f0d5c2b1a00",
        "spec_01939f0a7c3d7e6b8a1f4f0d5c2b1a00",
    ] {
        replica.admin.get(&format!("/v1/gpu-specs/{id}")).await.expect_problem(404, "not-found");
    }
    assert_eq!(fixture.count("select count(*) from stock.gpu_specs").await, 0);
    assert_eq!(fixture.count("select count(*) from stock.datacenters").await, 0);
}

#[tokio::test]
async fn a_repeated_write_has_one_effect() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let admin = replica.admin.key("first");
    let made = admin.post("/v1/gpu-specs", spec("a", "1")).await.expect(201);
    let again = admin.post("/v1/gpu-specs", spec("a", "1")).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!((&again.body, again.header("location")), (&made.body, made.header("location")));
    admin.post("/v1/gpu-specs", spec("b", "1")).await.expect_problem(422, "idempotency-key-reused");
    let path = format!("/v1/gpu-specs/{}", made.str("id"));
    admin.delete(&path).await.expect_problem(422, "idempotency-key-reused");

    // another administrator's key of the same name is another key
    let other = replica.base.token(&fixture.issuer.admin()).key("first");
    let _ = other.post("/v1/gpu-specs", spec("c", "1")).await.expect(201);

    let http = reqwest::Client::new();
    let url = format!("{}/v1/gpu-specs", replica.base.base());
    for key in ["", "with space", "\u{7f}"] {
        let mut request = http.post(&url).bearer_auth(fixture.issuer.admin()).json(&spec("d", "1"));
        if let Ok(value) = reqwest::header::HeaderValue::from_str(key) {
            request = request.header("idempotency-key", value);
        }
        assert_eq!(request.send().await.unwrap().status(), 400, "{key:?}");
    }

    // a hundred at once: one does it, the others are told to wait or get its answer
    let (mut made, mut told) = (0, 0);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let admin: Client = replica.admin.key("crowd");
            tokio::spawn(async move { admin.post("/v1/gpu-specs", spec("crowd", "1")).await })
        })
        .collect();
    for task in tasks {
        let answer = task.await.unwrap();
        match answer.status {
            201 => made += 1,
            409 => told += 1,
            other => panic!("{other}: {}", answer.text),
        }
    }
    assert!(made >= 1 && made + told == 100);
    assert_eq!(fixture.count("select count(*) from stock.gpu_specs where name = 'crowd'").await, 1);
}

#[tokio::test]
async fn each_caller_may_do_what_its_role_allows() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_path = format!("/v1/gpu-specs/{}", replica.spec("a", "1").await);
    let dc_path = format!("/v1/datacenters/{}", replica.datacenter("uk-1").await);
    let change = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 1 });

    for client in [fixture.user(&replica, Role::Viewer), fixture.user(&replica, Role::Owner)] {
        for path in ["/v1/gpu-specs", "/v1/datacenters", "/v1/stock", &spec_path, &dc_path] {
            let _ = client.get(path).await.expect(200);
        }
        for path in ["/v1/stock-units", "/v1/stock-operations", "/v1/stock-repairs"] {
            client.get(path).await.expect_problem(403, "forbidden");
        }
        client.post("/v1/gpu-specs", spec("b", "1")).await.expect_problem(403, "forbidden");
        client.post("/v1/stock/additions", change.clone()).await.expect_problem(403, "forbidden");
        client.post("/v1/stock/removals", change.clone()).await.expect_problem(403, "forbidden");
        client
            .patch(&spec_path, "*", json!({ "price_per_hour": "0" }))
            .await
            .expect_problem(403, "forbidden");
        client.delete(&spec_path).await.expect_problem(403, "forbidden");
        client.delete(&dc_path).await.expect_problem(403, "forbidden");
    }
    // a person's token is no service's, a service's none of a person
    for client in [&replica.base, &replica.service, &replica.base.token("x.y.z")] {
        client.get("/v1/stock").await.expect_problem(401, "unauthenticated");
    }
    for client in [&replica.base, &replica.admin] {
        client.get("/internal/v1/gpu-specs/a").await.expect_problem(401, "unauthenticated");
        client.post("/internal/v1/claims", json!({})).await.expect_problem(401, "unauthenticated");
    }
    let _ = replica.on_behalf.get("/internal/v1/gpu-specs/a").await.expect(200);
    replica.on_behalf.get("/internal/v1/gpu-specs/b").await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn the_roles_see_only_their_own_rows() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    let _ = replica.claim(&crate::fixture::instance(), &spec_id).await.expect(201);

    // another service's schema in the same database
    let other = sqlx::migrate::Migrator::with_migrations(Vec::new());
    let other: &'static sqlx::migrate::Migrator = Box::leak(Box::new(other));
    let _ = fixture.db.service("gpu", other).await;
    fixture.sql("create table gpu.secrets (id int)").await;
    for role in ["app", "worker", "owner"] {
        let mut conn = fixture.role(role).await;
        let error = sqlx::query("select * from gpu.secrets").execute(&mut conn).await.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), "42501", "{error}");
    }

    // a request sees units that nobody holds, and not who holds the others; without any predicate
    let mut app = fixture.role("app").await;
    let count = async |conn: &mut sqlx::PgConnection, query: &'static str| -> i64 {
        sqlx::query_scalar(query).fetch_one(conn).await.unwrap()
    };
    assert_eq!(count(&mut app, "select count(*) from units").await, 2);
    replica.release("inst_01939f0a7c3d7e6b8a1f4f0d5c2b1a00").await;
    let mut worker = fixture.role("worker").await;
    assert_eq!(count(&mut worker, "select count(*) from units").await, 3);
    // with the tenant set, its own as well
    let set = "select set_config('atelier.tenant', '01939f0a-7c3d-7e6b-8a1f-4f0d5c2b1a00', false)";
    sqlx::query(set).execute(&mut app).await.unwrap();
    assert_eq!(count(&mut app, "select count(*) from units").await, 3);
    let set = "select set_config('atelier.tenant', '01939f0a-7c3d-7e6b-8a1f-4f0d5c2b1a01', false)";
    sqlx::query(set).execute(&mut app).await.unwrap();
    assert_eq!(count(&mut app, "select count(*) from units").await, 2);
    let error =
        sqlx::query("update units set state = 'inactive' where state = 'used'").execute(&mut app).await;
    assert_eq!(error.unwrap().rows_affected(), 0);
    let error = sqlx::query("insert into repairs (kind, detail) values ('a', 'b')").execute(&mut app).await;
    assert!(error.is_err());
}

#[tokio::test]
async fn odd_text_is_refused() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let id = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let cursor = |value: Value| {
        use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
        URL_SAFE_NO_PAD.encode(value.to_string())
    };
    let odd = "\u{0}";
    for path in [
        "/v1/gpu-specs?name_prefix=a%00".to_owned(),
        "/v1/gpu-specs?gpu_model=%00".to_owned(),
        format!("/v1/gpu-specs?name_prefix={}", "a".repeat(300)),
        format!("/v1/gpu-specs?cursor={}", cursor(json!(odd))),
        format!("/v1/gpu-specs?cursor={}", cursor(json!(7))),
        format!("/v1/datacenters?cursor={}", cursor(json!(odd))),
        format!("/v1/gpu-specs/{id}/prices?cursor={}", cursor(json!("-009999-01-02T00:00:00Z"))),
        "/v1/stock?spec_name=%00".to_owned(),
        "/v1/stock?datacenter=%00".to_owned(),
        format!("/v1/stock?cursor={}", cursor(json!(["a", odd]))),
        "/v1/stock-units?gpu_spec=%00".to_owned(),
        "/v1/stock-units?datacenter=%00".to_owned(),
        format!("/v1/stock-operations?cursor={}", cursor(json!("op_1"))),
        format!("/v1/stock-repairs?cursor={}", cursor(json!(1e300))),
    ] {
        let answer = replica.admin.get(&path).await;
        assert_eq!(answer.status, 422, "{path}: {}", answer.text);
    }
    replica.on_behalf.get("/internal/v1/gpu-specs/a%00").await.expect_problem(404, "not-found");
    for (path, body) in [
        ("/v1/stock/additions", json!({ "gpu_spec": odd, "datacenter": "uk-1", "count": 1 })),
        ("/v1/stock/additions", json!({ "gpu_spec": "a", "datacenter": odd, "count": 1 })),
        ("/v1/datacenters", json!({ "name": "x", "region": odd, "cluster": "main" })),
        ("/v1/datacenters", json!({ "name": "x", "region": "x", "cluster": odd })),
        ("/v1/datacenters", json!({ "name": "x", "region": "x", "cluster": "main", "labels": { odd: "" } })),
        ("/v1/gpu-specs", {
            let mut body = spec("b", "1");
            body["allocation"] = json!({ "kind": "dra", "device_class": "gpu", "selectors": [odd] });
            body
        }),
    ] {
        let answer = replica.admin.post(path, body.clone()).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.text);
    }
    let claim = json!({ "instance_id": crate::fixture::instance(), "tenant_id": crate::fixture::tenant(),
        "gpu_spec_id": id, "preferred_node": odd });
    replica.service.post("/internal/v1/claims", claim).await.expect_problem(409, "stock-exhausted");
    let big = json!({ "name": "x".repeat(300_000) });
    replica.admin.post("/v1/gpu-specs", big).await.expect_problem(413, "body-too-large");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_the_database_ends_is_503() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let path = format!("/v1/gpu-specs/{}", replica.spec("a", "1").await);
    let mut holder = fixture.db.admin().await;
    sqlx::raw_sql("begin; update stock.gpu_specs set state = state").execute(&mut holder).await.unwrap();
    let admin = replica.admin.clone();
    let patch = {
        let path = path.clone();
        tokio::spawn(async move { admin.patch(&path, "*", json!({ "state": "retired" })).await })
    };
    eventually("the request waits, and its connection is ended", async || {
        let ended = fixture
            .count(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'",
            )
            .await;
        (ended > 0).then_some(())
    })
    .await;
    let answer = patch.await.unwrap().expect_problem(503, "unavailable");
    assert!(answer.header("retry-after").is_some());
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let _ = replica.admin.patch(&path, "*", json!({ "state": "retired" })).await.expect(200);
}
