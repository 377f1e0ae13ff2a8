//! Claims: a unit never has two holders, whatever is requested at once and whichever replica dies.

use std::collections::{HashMap, HashSet};

use futures::StreamExt;
use serde_json::{Value, json};
use testkit::eventually;

use crate::fixture::{Fixture, instance, tenant};

const CLAIMS: &str = "/internal/v1/claims";

#[tokio::test]
async fn an_instance_keeps_its_unit_until_the_release() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let dc_id = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;

    let holder = instance();
    let first = replica.claim(&holder, &spec_id).await.expect(201);
    let unit = first.str("unit_id").to_owned();
    assert_eq!(first.str("unit_name"), unit.replace('_', "-"));
    for (name, value) in [
        ("instance_id", holder.as_str()),
        ("tenant_id", tenant()),
        ("gpu_spec_id", &spec_id),
        ("gpu_spec_name", "a"),
        ("datacenter_id", &dc_id),
        ("datacenter_name", "uk-1"),
        ("cluster", "main"),
        ("price_per_hour", "0.25"),
        ("currency", "USD"),
    ] {
        assert_eq!(first.str(name), value);
    }
    let path = format!("{CLAIMS}/{holder}");
    assert_eq!(replica.service.get(&path).await.expect(200).body, first.body);
    assert_eq!(replica.numbers().await, [2, 0, 1, 3]);
    let detail = replica.admin.get(&format!("/v1/stock-units/{unit}")).await.expect(200);
    assert_eq!(detail.str("state"), "used");
    assert_eq!(detail.body["holder"]["instance_id"], json!(holder));
    assert_eq!(detail.body["history"], json!([]));

    replica.release(&holder).await;
    replica.service.get(&path).await.expect_problem(404, "not-found");
    let detail = replica.admin.get(&format!("/v1/stock-units/{unit}")).await.expect(200);
    assert_eq!((detail.str("state"), &detail.body["holder"]), ("available", &Value::Null));
    assert_eq!(detail.body["history"][0]["instance_id"], json!(holder));
    assert_eq!(replica.numbers().await, [3, 0, 0, 3]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_claim_has_the_price_of_its_hold_and_the_history_every_price() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 2).await;
    let claim = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(claim.body["hold_price_fraction"], Value::Null);

    let path = format!("/v1/gpu-specs/{spec_id}");
    let patch = async |fraction: Value| {
        let etag = replica.admin.get(&path).await.header("etag").unwrap().to_owned();
        replica.admin.patch(&path, &etag, json!({ "hold_price_fraction": fraction })).await
    };
    patch(json!("1.01")).await.expect_problem(422, "invalid-field");
    assert_eq!(patch(json!("0.50")).await.expect(200).str("hold_price_fraction"), "0.5");
    let claim = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(claim.str("hold_price_fraction"), "0.5");
    assert_eq!(patch(Value::Null).await.expect(200).body["hold_price_fraction"], Value::Null);
    let prices = replica.admin.get(&format!("{path}/prices")).await.expect(200);
    let fractions: Vec<_> =
        prices.body["items"].as_array().unwrap().iter().map(|price| &price["hold_price_fraction"]).collect();
    assert_eq!(fractions, [&Value::Null, &json!("0.5"), &Value::Null]);
}

#[tokio::test]
async fn claims_and_releases_ignore_idempotency_keys() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;

    let holder = instance();
    let first = replica.claim(&holder, &spec_id).await.expect(201);
    let path = format!("{CLAIMS}/{holder}");
    let keyed = replica.service.key(&format!("claim-{holder}"));
    let body = json!({ "instance_id": holder, "tenant_id": tenant(), "gpu_spec_id": spec_id });
    for client in [&replica.service, &keyed, &keyed] {
        let again = client.post(CLAIMS, body.clone()).await.expect(200);
        assert_eq!(again.body, first.body);
    }
    let keyed_release = replica.service.key(&format!("release-{holder}"));
    for _ in 0..2 {
        let _ = keyed_release.delete(&path).await.expect(204);
    }
    assert_eq!(replica.numbers().await, [3, 0, 0, 3]);
    let _ = keyed.post(CLAIMS, body).await.expect(201);
    let _ = keyed_release.delete(&path).await.expect(204);
    assert_eq!(replica.numbers().await, [3, 0, 0, 3]);
    assert_eq!(fixture.count("select count(*) from stock.unit_holders").await, 2);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_late_release_spares_a_newer_claim() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;

    let holder = instance();
    let path = format!("{CLAIMS}/{holder}");
    let early = replica.claim(&holder, &spec_id).await.expect(201);
    let early = format!("{path}?claimed_at={}", early.str("claimed_at"));
    let _ = replica.service.delete(&early).await.expect(204);
    assert_eq!(replica.numbers().await, [3, 0, 0, 3]);
    let late = replica.claim(&holder, &spec_id).await.expect(201);
    let _ = replica.service.delete(&early).await.expect(204);
    assert_eq!(replica.service.get(&path).await.expect(200).body, late.body);
    let of_none = format!("{path}?claimed_at=1970-01-01T00:00:00Z");
    let _ = replica.service.delete(&of_none).await.expect(204);
    assert_eq!(replica.numbers().await, [2, 0, 1, 3]);
    replica.service.delete(&format!("{path}?claimed_at=x")).await.expect_problem(422, "invalid-field");
    let _ =
        replica.service.delete(&format!("{path}?claimed_at={}", late.str("claimed_at"))).await.expect(204);
    assert_eq!(replica.numbers().await, [3, 0, 0, 3]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_unit_that_is_not_held_is_inactive_after_the_release() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;

    let holder = instance();
    let _ = replica.claim(&holder, &spec_id).await.expect(201);
    fixture.sql("update stock.units set held = false where state = 'used'").await;
    replica.release(&holder).await;
    assert_eq!(replica.numbers().await, [2, 1, 0, 3]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn an_invalid_claim_is_refused() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let a = replica.spec("a", "1").await;
    let b = replica.spec("b", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    fixture.units("b", "uk-1", 3).await;
    let holder = instance();
    let good = json!({ "instance_id": holder, "tenant_id": tenant(), "gpu_spec_id": a });
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for (body, pointer) in [
        (with("instance_id", json!("nonsense")), "/instance_id"),
        (with("instance_id", json!(spec_like())), "/instance_id"),
        (with("tenant_id", Value::Null), "/tenant_id"),
        (with("gpu_spec_id", json!("spec_01939f0a7c3d7e6b8a1f4f0d5c2b1a00")), "/gpu_spec_id"),
        (with("datacenter_id", json!("dc_01939f0a7c3d7e6b8a1f4f0d5c2b1a00")), "/datacenter_id"),
        (with("more", json!(1)), "/more"),
    ] {
        let answer =
            replica.service.post("/internal/v1/claims", body).await.expect_problem(422, "invalid-field");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer);
    }
    let _ = replica.service.post("/internal/v1/claims", good.clone()).await.expect(201);
    for body in
        [with("gpu_spec_id", json!(b)), with("tenant_id", json!("ten_01939f0a7c3d7e6b8a1f4f0d5c2b1a01"))]
    {
        replica.service.post("/internal/v1/claims", body).await.expect_problem(409, "already-claimed");
    }
    assert_eq!(fixture.count("select count(*) from stock.units where state = 'used'").await, 1);
    replica.service.get("/internal/v1/claims/nonsense").await.expect_problem(404, "not-found");
}

fn spec_like() -> &'static str {
    "unit_01939f0a7c3d7e6b8a1f4f0d5c2b1a00"
}

#[tokio::test]
async fn an_exhausted_stock_names_alternatives() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let a = replica.spec("3080-a", "0.2").await;
    let _ = replica.spec("3080-b", "0.3").await;
    let retired = replica.spec("3080-c", "0.2").await;
    let mut other = crate::fixture::spec("4090-a", "0.21");
    other["gpu_model"] = json!("NVIDIA-GeForce-RTX-4090");
    let _ = replica.admin.post("/v1/gpu-specs", other).await.expect(201);
    let uk = replica.datacenter("uk-1").await;
    let de = replica.datacenter("de-1").await;
    for (spec, datacenter, count) in
        [("3080-a", "de-1", 1), ("3080-b", "uk-1", 2), ("3080-c", "uk-1", 2), ("4090-a", "uk-1", 3)]
    {
        fixture.units(spec, datacenter, count).await;
    }
    let path = format!("/v1/gpu-specs/{retired}");
    let _ = replica.admin.patch(&path, "*", json!({ "state": "retired" })).await.expect(200);

    let asker = instance();
    let body = json!({ "instance_id": asker, "tenant_id": tenant(), "gpu_spec_id": a, "datacenter_id": uk });
    let ask = async || replica.service.post("/internal/v1/claims", body.clone()).await;
    let refused = ask().await.expect_problem(409, "stock-exhausted");
    assert_eq!(refused.body["waiting"], 0);
    let names: Vec<_> = refused.body["alternatives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| {
            (
                a["gpu_spec"]["name"].as_str().unwrap(),
                a["datacenter"]["name"].as_str().unwrap(),
                a["available"].as_i64().unwrap(),
                a["price_per_hour"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [("3080-a", "de-1", 1, "0.2"), ("3080-b", "uk-1", 2, "0.3"), ("4090-a", "uk-1", 3, "0.21")]
    );
    // others that wait are counted
    let second = instance();
    let wait = json!({ "tenant_id": tenant(), "gpu_spec_id": a, "datacenter_id": uk });
    let path = format!("/internal/v1/queue/{second}");
    assert_eq!(replica.service.put(&path, wait).await.expect(200).body["claim"], Value::Null);
    assert_eq!(ask().await.expect_problem(409, "stock-exhausted").body["waiting"], 1);
    replica.release(&second).await;
    assert_eq!(ask().await.expect_problem(409, "stock-exhausted").body["waiting"], 0);
    fixture.units("3080-a", "uk-1", 1).await;
    let _ = ask().await.expect(201);

    // without a datacenter any will do, but for one that drains
    let path = format!("/v1/datacenters/{de}");
    let _ = replica.admin.patch(&path, "*", json!({ "state": "draining" })).await.expect(200);
    let third = instance();
    let refused = replica.claim(&third, &a).await.expect_problem(409, "stock-exhausted");
    assert_eq!(refused.body["alternatives"][0]["gpu_spec"]["name"], "3080-b");
    let mut there = body.clone();
    (there["instance_id"], there["datacenter_id"]) = (json!(third), json!(de));
    let refused =
        replica.service.post("/internal/v1/claims", there).await.expect_problem(409, "stock-exhausted");
    assert!(refused.str("detail").contains("draining"), "{}", refused.text);
    let _ = replica.admin.patch(&path, "*", json!({ "state": "active" })).await.expect(200);
    assert_eq!(replica.claim(&third, &a).await.expect(201).str("datacenter_name"), "de-1");
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_free_unit_on_the_preferred_node_is_claimed_first() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let a = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 40).await; // ten on each of four nodes
    let claims = futures::future::join_all((0..16).map(|_| {
        replica.service.post(
            "/internal/v1/claims",
            json!({ "instance_id": instance(), "tenant_id": tenant(), "gpu_spec_id": a, "preferred_node": "node-2" }),
        )
    }))
    .await;
    let there = claims.into_iter().filter(|c| c.body["node"] == "node-2" && c.status == 201).count();
    assert!(there >= 10, "only {there} on the node");
    assert_eq!(
        fixture.count("select count(*) from stock.units where state = 'used' and node = 'node-2'").await,
        10
    );
    assert_eq!(fixture.count("select count(*) from stock.units where state = 'used'").await, 16);
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_unit_is_never_claimed_twice() {
    let fixture = Fixture::new().await;
    // two replicas on one database, as in production
    let replicas = [fixture.replica().await, fixture.replica().await];
    let a = replicas[0].spec("a", "1").await;
    let _ = replicas[0].datacenter("uk-1").await;
    let _ = replicas[0].datacenter("de-1").await;
    fixture.units("a", "uk-1", 150).await;
    fixture.units("a", "de-1", 50).await;

    // 64 at a time, 400 instances for 200 units, each asked for twice and at both replicas; some hang up
    let askers: Vec<String> = (0..400).map(|_| instance()).collect();
    let answers: Vec<(String, Option<(u16, String)>)> = futures::stream::iter((0..800).map(|n| {
        let asker = askers[n % 400].clone();
        let service = replicas[(n / 7) % 2].service.clone();
        let body = json!({ "instance_id": asker, "tenant_id": tenant(), "gpu_spec_id": a });
        async move {
            let call = tokio::spawn(async move { service.post("/internal/v1/claims", body).await });
            if n % 10 == 3 {
                tokio::task::yield_now().await;
                call.abort();
            }
            let answer = call.await.ok();
            (asker, answer.map(|a| (a.status, a.body["unit_id"].as_str().unwrap_or_default().to_owned())))
        }
    }))
    .buffer_unordered(64)
    .collect()
    .await;

    let mut holders: HashMap<String, String> = HashMap::new();
    for (asker, answer) in answers {
        match answer {
            Some((200 | 201, unit)) => {
                let holder = holders.entry(unit).or_insert_with(|| asker.clone());
                assert_eq!(*holder, asker, "a unit was claimed by two instances");
            }
            Some((409, _)) | None => {}
            Some((other, _)) => panic!("{other}"),
        }
    }
    // every unit has gone to somebody, one each
    eventually("all units are used", async || {
        (fixture.count("select count(*) from stock.units where state = 'used'").await == 200).then_some(())
    })
    .await;
    let distinct: HashSet<&String> = holders.values().collect();
    assert_eq!(distinct.len(), holders.len());
    fixture.assert_sound().await;

    // all back at once, twice each, while others claim what comes free
    let late: Vec<String> = (0..100).map(|_| instance()).collect();
    let releases = askers.iter().chain(&askers).enumerate().map(|(n, asker)| {
        let service = replicas[n % 2].service.clone();
        let path = format!("/internal/v1/claims/{asker}");
        tokio::spawn(async move { service.delete(&path).await.status })
    });
    let claims = late.iter().map(|asker| {
        let service = replicas[1].service.clone();
        let body = json!({ "instance_id": asker, "tenant_id": tenant(), "gpu_spec_id": a });
        tokio::spawn(async move { service.post("/internal/v1/claims", body).await.status })
    });
    let (releases, claims): (Vec<_>, Vec<_>) = (releases.collect(), claims.collect());
    for release in releases {
        assert_eq!(release.await.unwrap(), 204);
    }
    let mut got = 0;
    for claim in claims {
        got += i64::from(claim.await.unwrap() == 201);
    }
    assert_eq!(fixture.count("select count(*) from stock.units where state = 'used'").await, got);
    assert_eq!(fixture.count("select count(*) from stock.units where state = 'available'").await, 200 - got);
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_claim_waits_for_the_last_unit_while_it_is_being_written() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let a = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    // what the watch does now and then: it holds the row for a moment; the claim waits for it
    let mut writer = fixture.role("worker").await;
    let begin = async |conn: &mut sqlx::PgConnection, sql: &'static str| {
        sqlx::raw_sql(sql).execute(conn).await.unwrap();
    };
    begin(&mut writer, "begin; update units set message = 'x'").await;
    let service = replica.service.clone();
    let body = json!({ "instance_id": instance(), "tenant_id": tenant(), "gpu_spec_id": a });
    let claim = tokio::spawn(async move { service.post("/internal/v1/claims", body).await.status });
    eventually("the claim waits for the row", async || {
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        (fixture.count(waiting).await > 0).then_some(())
    })
    .await;
    begin(&mut writer, "commit").await;
    assert_eq!(claim.await.unwrap(), 201);
    fixture.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_survive_the_death_of_a_replica() {
    let fixture = Fixture::new().await;
    let (first, runtime) = fixture.doomed().await;
    let a = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 200).await;
    let askers: Vec<String> = (0..200).map(|_| instance()).collect();
    let mut calls: futures::stream::FuturesUnordered<_> = askers
        .iter()
        .map(|asker| {
            let http = reqwest::Client::new();
            let url = format!("{}/internal/v1/claims", first.base.base());
            let body = json!({ "instance_id": asker, "tenant_id": tenant(), "gpu_spec_id": a });
            async move {
                let answer = http
                    .post(url)
                    .bearer_auth(testkit::service_token("gpu"))
                    .json(&body)
                    .send()
                    .await
                    .ok()?;
                let claim: Value = answer.json().await.ok()?;
                Some((asker.clone(), claim["unit_id"].as_str()?.to_owned()))
            }
        })
        .collect();
    let mut told = HashMap::new();
    while told.len() < 40 {
        told.extend(calls.next().await.unwrap());
    }
    runtime.shutdown_background();
    while let Some(answer) = calls.next().await {
        told.extend(answer);
    }
    let second = fixture.replica().await;
    let mut units = HashSet::new();
    for asker in &askers {
        let answer = second.claim(asker, &a).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.text);
        let unit = answer.str("unit_id").to_owned();
        if let Some(before) = told.get(asker) {
            assert_eq!((answer.status, before), (200, &unit), "the instance got another unit");
        }
        assert!(units.insert(unit), "a unit was claimed twice");
    }
    fixture.assert_sound().await;
}
