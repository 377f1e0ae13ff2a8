//! The list of stock, units' pages, additions and removals as records (the cluster is in `cluster`).

use auth::Role;
use serde_json::json;
use testkit::eventually;

use crate::fixture::{Fixture, instance, spec};

#[tokio::test]
async fn the_list_of_stock_is_filtered_and_paged() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("3080-small-4-1", "0.2").await;
    let _ = replica.spec("3080-large-8-2", "0.5").await;
    let _ = replica.spec("4090-small-8-1", "0.9").await;
    for name in ["uk-1", "de-1"] {
        let _ = replica.datacenter(name).await;
    }
    let user = fixture.user(&replica, Role::Viewer);
    assert_eq!(
        user.get("/v1/stock").await.expect(200).body,
        json!({ "items": [], "next_cursor": null, "unreadable": [] })
    );

    fixture.units("3080-small-4-1", "uk-1", 40).await;
    fixture.units("3080-small-4-1", "de-1", 1).await;
    fixture.units("3080-large-8-2", "de-1", 2).await;
    fixture.units("4090-small-8-1", "uk-1", 3).await;
    for _ in 0..32 {
        let _ = replica.claim(&instance(), &spec_id).await.expect(201);
    }
    let one = user.get("/v1/stock?spec_name=3080-small&datacenter=uk-1").await.expect(200);
    let items = one.body["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{}", one.text);
    let row = &items[0];
    assert_eq!(row["gpu_spec"]["name"], "3080-small-4-1");
    assert_eq!(
        row["gpu_spec"]["summary"],
        "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage"
    );
    assert_eq!(row["datacenter"]["name"], "uk-1");
    let numbers = ["available", "inactive", "used", "total"].map(|n| row[n].as_i64().unwrap());
    assert_eq!(numbers, [8, 0, 32, 40]);
    assert_eq!((&row["price_per_hour"], &row["currency"]), (&json!("0.2"), &json!("USD")));

    let mut seen = Vec::new();
    let mut path = "/v1/stock?limit=1".to_owned();
    loop {
        let page = user.get(&path).await.expect(200);
        for row in page.body["items"].as_array().unwrap() {
            seen.push((
                row["gpu_spec"]["name"].as_str().unwrap().to_owned(),
                row["datacenter"]["name"].as_str().unwrap().to_owned(),
            ));
        }
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        path = format!("/v1/stock?limit=1&cursor={cursor}");
    }
    let expected = [
        ("3080-large-8-2", "de-1"),
        ("3080-small-4-1", "de-1"),
        ("3080-small-4-1", "uk-1"),
        ("4090-small-8-1", "uk-1"),
    ];
    assert_eq!(seen, expected.map(|(s, d)| (s.to_owned(), d.to_owned())));
    for (query, count) in
        [("datacenter=de-1", 2), ("spec_name=3080", 3), ("spec_name=x", 0), ("datacenter=x", 0)]
    {
        let page = user.get(&format!("/v1/stock?{query}")).await.expect(200);
        assert_eq!(page.body["items"].as_array().unwrap().len(), count, "{query}");
    }
    fixture.assert_sound().await;
}

#[tokio::test]
async fn additions_and_removals_are_checked_before_anything_happens() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "1").await;
    let dc_id = replica.datacenter("uk-1").await;
    for (body, pointer) in [
        (json!({ "gpu_spec": "b", "datacenter": "uk-1", "count": 1 }), "/gpu_spec"),
        (json!({ "gpu_spec": "a", "datacenter": "uk-2", "count": 1 }), "/datacenter"),
        (json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 0 }), "/count"),
        (json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": -3 }), "/count"),
        (json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 1001 }), "/count"),
        (json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": i64::MAX }), "/count"),
        (json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 1, "force": true }), "/force"),
    ] {
        for path in ["/v1/stock/additions", "/v1/stock/removals"] {
            let answer = replica.admin.post(path, body.clone()).await.expect_problem(422, "invalid-field");
            assert_eq!(answer.body["errors"][0]["pointer"], pointer);
        }
    }
    assert_eq!(fixture.count("select count(*) from stock.units").await, 0);

    // by id as well as by name, once for each key
    let admin = replica.admin.key("add");
    let body = json!({ "gpu_spec": spec_id, "datacenter": dc_id, "count": 3 });
    let first = admin.post("/v1/stock/additions", body.clone()).await.expect(202);
    assert_eq!(first.header("location").unwrap(), format!("/v1/stock-operations/{}", first.str("id")));
    assert_eq!((first.str("kind"), first.str("state")), ("add_stock", "pending"));
    assert_eq!(first.body["progress"]["requested"], 3);
    let again = admin.post("/v1/stock/additions", body).await.expect(202);
    assert_eq!(again.str("id"), first.str("id"));
    assert_eq!(fixture.count("select count(*) from stock.units where state = 'making'").await, 3);
    let page = replica
        .admin
        .get("/v1/stock-units?state=making&gpu_spec=a&datacenter=uk-1&limit=2")
        .await
        .expect(200);
    assert_eq!(page.body["items"].as_array().unwrap().len(), 2);
    let next = page.str("next_cursor").to_owned();
    let page = replica.admin.get(&format!("/v1/stock-units?state=making&cursor={next}")).await.expect(200);
    assert_eq!(page.body["items"].as_array().unwrap().len(), 1);
    let none = replica.admin.get("/v1/stock-units?gpu_spec=zzz").await.expect(200);
    assert!(none.body["items"].as_array().unwrap().is_empty());

    // what is used is never removed
    fixture.sql("update stock.units set state = 'available', held = true, wake_at = null").await;
    let holder = instance();
    let claim = replica.claim(&holder, &spec_id).await.expect(201);
    let much = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 3 });
    let refused = replica.admin.post("/v1/stock/removals", much).await.expect_problem(409, "stock-in-use");
    assert_eq!(refused.body["free"], 2);
    assert_eq!(fixture.count("select count(*) from stock.units where state = 'available'").await, 2);
    let some = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 2 });
    let _ = replica.admin.post("/v1/stock/removals", some).await.expect(202);
    let page = replica.admin.get(&format!("/v1/stock-units/{}", claim.str("unit_id"))).await.expect(200);
    assert_eq!((page.str("state"), &page.body["holder"]["instance_id"]), ("used", &json!(holder)));
    replica.claim(&instance(), &spec_id).await.expect_problem(409, "stock-exhausted");
    fixture.assert_sound().await;

    let list = replica.admin.get("/v1/stock-operations").await.expect(200);
    let kinds: Vec<_> =
        list.body["items"].as_array().unwrap().iter().map(|o| o["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["remove_stock", "add_stock"]);
    let op = "op_01939f0a7c3d7e6b8a1f4f0d5c2b1a00";
    replica.admin.get(&format!("/v1/stock-operations/{op}")).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn a_removal_takes_inactive_units_first() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 5).await;
    fixture
        .sql(
            "update stock.units set state = 'inactive', held = false, reason = 'node_lost'
             where id in (select id from stock.units order by id desc limit 2)",
        )
        .await;
    assert_eq!(replica.numbers().await, [3, 2, 0, 5]);
    let three = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 3 });
    let _ = replica.admin.post("/v1/stock/removals", three).await.expect(202);
    assert_eq!(replica.numbers().await, [2, 0, 0, 2]);
    fixture.assert_sound().await;
    replica.admin.post("/v1/gpu-specs", spec("a", "1")).await.expect_problem(409, "name-taken");
}

#[tokio::test]
async fn an_occupied_unit_is_not_removed() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    // as the comparison leaves what it has adopted: no claim, but an instance runs in it
    let adopted = "update stock.units set state = 'inactive', occupied = true, reason = 'occupied'
         where id in (select id from stock.units limit 1)";
    fixture.sql(adopted).await;
    let removal = |count: i64| json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": count });
    let refused =
        replica.admin.post("/v1/stock/removals", removal(3)).await.expect_problem(409, "stock-in-use");
    assert_eq!(refused.body["free"], 2);
    let _ = replica.admin.post("/v1/stock/removals", removal(2)).await.expect(202);
    assert_eq!(
        fixture.count("select count(*) from stock.units where state = 'inactive' and occupied").await,
        1
    );
    assert_eq!(replica.numbers().await, [0, 1, 0, 1]);
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_waits_blocks_nobody() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 2).await;
    fixture
        .sql(
            "update stock.units u set claim_key = n from (select id, row_number() over () as n from stock.units) o
             where o.id = u.id",
        )
        .await;
    let mut writer = fixture.role("worker").await;
    let write = async |conn: &mut sqlx::PgConnection, sql: &'static str| {
        sqlx::raw_sql(sql).execute(conn).await.unwrap();
    };
    write(&mut writer, "begin; update units set message = 'x' where claim_key = 1").await;
    let admin = replica.admin.clone();
    let both = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 2 });
    let removal = tokio::spawn(async move { admin.post("/v1/stock/removals", both).await });
    eventually("the removal waits for the one", async || {
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        (fixture.count(waiting).await > 0).then_some(())
    })
    .await;
    // the other is to be had meanwhile
    write(&mut writer, "update units set message = 'x' where claim_key = 2; commit").await;
    let _ = removal.await.unwrap().expect(202);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn so_many_operations_of_a_kind_are_in_progress_at_a_time() {
    let mut fixture = Fixture::new().await;
    fixture.config.max_open_operations = 2;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let one = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 1 });
    let additions = (0..5).map(|_| replica.admin.post("/v1/stock/additions", one.clone()));
    let answers = futures::future::join_all(additions).await;
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 202);
    assert_eq!((accepted.len(), refused.len()), (2, 3));
    for answer in refused {
        let refused = answer.expect_problem(409, "too-many-operations");
        assert_eq!((&refused.body["limit"], &refused.body["open"]), (&json!(2), &json!(2)));
    }
    // removals have a limit of their own
    let _ = replica.admin.post("/v1/stock/removals", one).await.expect(202);
    assert_eq!(fixture.count("select count(*) from stock.units").await, 2);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn everybody_sees_offers_without_numbers_of_units() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let anyone = &replica.base;
    let empty = anyone.get("/v1/offers").await.expect(200);
    assert_eq!(empty.body, json!({ "items": [], "next_cursor": null, "unreadable": [] }));
    let small = replica.spec("3080-small-4-1", "0.2").await;
    let _ = replica.spec("4090-small-8-1", "0.9").await;
    let retired = replica.spec("1080-old-1", "0.1").await;
    for name in ["uk-1", "de-1", "us-1"] {
        let _ = replica.datacenter(name).await;
    }
    for (name, units) in [("uk-1", 5), ("de-1", 4), ("us-1", 1)] {
        fixture.units("3080-small-4-1", name, units).await;
    }
    fixture.units("1080-old-1", "uk-1", 1).await;
    let path = format!("/v1/gpu-specs/{retired}");
    let _ = replica.admin.patch(&path, "*", json!({ "state": "retired" })).await.expect(200);

    let offers = anyone.get("/v1/offers").await.expect(200);
    assert_eq!(offers.header("cache-control"), Some("public, max-age=30"));
    let items = offers.body["items"].as_array().unwrap();
    let names: Vec<_> = items.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["3080-small-4-1", "4090-small-8-1"]);
    assert_eq!((&items[0]["price_per_hour"], &items[0]["currency"]), (&json!("0.2"), &json!("USD")));
    assert_eq!(
        items[0]["datacenters"],
        json!([
            { "name": "de-1", "room": "few" }, { "name": "uk-1", "room": "many" }, { "name": "us-1", "room": "few" },
        ])
    );
    assert_eq!(items[1]["datacenters"], json!([]));
    assert!(!offers.text.contains("available") && !offers.text.contains(&small), "{}", offers.text);

    let draining = replica.admin.get("/v1/datacenters").await.expect(200);
    let uk = draining.body["items"].as_array().unwrap().iter().find(|one| one["name"] == "uk-1").unwrap();
    let path = format!("/v1/datacenters/{}", uk["id"].as_str().unwrap());
    let _ = replica.admin.patch(&path, "*", json!({ "state": "draining" })).await.expect(200);
    fixture.sql("update stock.stock_counts set available = 0, used = 1 where available = 1").await;
    let room = anyone.get("/v1/offers?limit=1").await.expect(200);
    assert_eq!(
        room.body["items"][0]["datacenters"],
        json!([
            { "name": "de-1", "room": "few" }, { "name": "uk-1", "room": "none" }, { "name": "us-1", "room": "none" },
        ])
    );
    let next =
        anyone.get(&format!("/v1/offers?limit=1&cursor={}", room.str("next_cursor"))).await.expect(200);
    assert_eq!(next.body["items"][0]["name"], "4090-small-8-1");
    for wrong in ["limit=0", "unknown=1", "cursor=nonsense"] {
        anyone.get(&format!("/v1/offers?{wrong}")).await.expect_problem(422, "invalid-field");
    }
}
