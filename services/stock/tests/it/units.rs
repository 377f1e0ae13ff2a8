//! Units by node and holder, and the removal of one of them.

use std::collections::HashSet;

use futures::future::join_all;
use ids::TenantId;
use serde_json::json;
use testkit::{Client, eventually};

use crate::fixture::{Fixture, instance, tenant};

/// Ids of the units of the list, by pages of two.
async fn listed(admin: &Client, query: &str) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = admin.get(&format!("/v1/stock-units?limit=2&{query}{cursor}")).await.expect(200);
        let items = page.body["items"].as_array().unwrap();
        ids.extend(items.iter().map(|unit| unit["id"].as_str().unwrap().to_owned()));
        let Some(next) = page.body["next_cursor"].as_str() else { return ids };
        cursor = format!("&cursor={next}");
    }
}

#[tokio::test]
async fn units_are_filtered_by_node_and_holder() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let (a, b) = (replica.spec("a", "1").await, replica.spec("b", "1").await);
    for name in ["uk-1", "de-1"] {
        let _ = replica.datacenter(name).await;
    }
    fixture.units("a", "uk-1", 8).await;
    fixture.units("b", "uk-1", 4).await;
    fixture.units("a", "de-1", 4).await;
    let holder = instance();
    let unit = replica.claim(&holder, &a).await.expect(201).str("unit_id").to_owned();
    let other = TenantId::new();
    let mut of_other = HashSet::new();
    for spec in [&a, &a, &a, &b] {
        let body = json!({ "instance_id": instance(), "tenant_id": other, "gpu_spec_id": spec });
        let claim = replica.service.post("/internal/v1/claims", body).await.expect(201);
        of_other.insert(claim.str("unit_id").to_owned());
    }

    let admin = &replica.admin;
    for (query, count) in [
        ("node=node-1".to_owned(), 4),
        ("node=node-1&datacenter=uk-1".to_owned(), 3),
        ("node=node-1&gpu_spec=a".to_owned(), 3),
        ("node=node-1&gpu_spec=b&datacenter=de-1".to_owned(), 0),
        ("node=node-9".to_owned(), 0),
        (format!("tenant_id={other}"), 4),
        (format!("tenant_id={other}&gpu_spec=b"), 1),
        (format!("tenant_id={other}&state=available"), 0),
        (format!("tenant_id={}", TenantId::new()), 0),
        (format!("tenant_id={}", tenant()), 1),
        (format!("instance_id={holder}&tenant_id={}", tenant()), 1),
        (format!("instance_id={holder}&tenant_id={other}"), 0),
        (format!("instance_id={}", instance()), 0),
    ] {
        let ids = listed(admin, &query).await;
        assert_eq!(ids.len(), count, "{query}");
        assert!(ids.is_sorted(), "{query}: in the order of addition");
    }
    assert_eq!(listed(admin, &format!("instance_id={holder}")).await, [unit]);
    let found: HashSet<_> = listed(admin, &format!("tenant_id={other}")).await.into_iter().collect();
    assert_eq!(found, of_other);
    for query in ["node=%00", "instance_id=x", "instance_id=unit_1", "tenant_id=", "holder=x"] {
        admin.get(&format!("/v1/stock-units?{query}")).await.expect_problem(422, "invalid-field");
    }

    // a unit moves, and a claim ends
    fixture.sql("update stock.units set node = 'node-9' where node = 'node-1'").await;
    assert_eq!((listed(admin, "node=node-1").await.len(), listed(admin, "node=node-9").await.len()), (0, 4));
    fixture.sql("update stock.units set node = null where node = 'node-9'").await;
    assert_eq!(listed(admin, "node=node-9").await.len(), 0);
    replica.release(&holder).await;
    assert_eq!(listed(admin, &format!("tenant_id={}", tenant())).await.len(), 0);
    let places = "select count(*) from stock.units u join stock.unit_places p
         on p.unit_id = u.id and p.gpu_spec_id = u.gpu_spec_id where p.node is distinct from u.node";
    assert_eq!(fixture.count(places).await, 0);
}

#[tokio::test]
async fn pages_stay_whole_while_units_come_and_go() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 12).await;
    let all = listed(&replica.admin, "node=node-1").await;
    let page = replica.admin.get("/v1/stock-units?node=node-1&limit=1").await.expect(200);
    assert_eq!(page.body["items"][0]["id"], json!(all[0]));
    // the unit of the cursor is gone before the next page is read
    let _ = replica.admin.delete(&format!("/v1/stock-units/{}", all[0])).await.expect(202);
    fixture.sql("delete from stock.units where state = 'removing'").await;
    let next = page.str("next_cursor");
    let rest = replica.admin.get(&format!("/v1/stock-units?node=node-1&cursor={next}")).await.expect(200);
    let rest: Vec<_> = rest.body["items"].as_array().unwrap().iter().map(|unit| &unit["id"]).collect();
    assert_eq!(rest, [&json!(all[1]), &json!(all[2])]);
    fixture.assert_sound().await;
}

/// With an index for each filter, a page of a hundred thousand units reads few rows.
#[tokio::test]
async fn a_page_of_many_units_is_read_along_an_index() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 100_000).await;
    fixture
        .sql(
            "update stock.units u set node = 'node-x' from (
                 select id from stock.units order by id desc limit 60) last where u.id = last.id",
        )
        .await;
    fixture
        .sql(
            "update stock.units u set state = 'used', holder_instance = gen_random_uuid(), holder_since = now(),
                 holder_tenant = '01939f0a-7c3d-7e6b-8a1f-4f0d5c2b1a00'
             from (select id from stock.units order by id desc limit 60) last where u.id = last.id",
        )
        .await;
    fixture.sql("analyze stock.units, stock.unit_places").await;
    let read = async || {
        fixture
            .count(
                "select (sum(seq_tup_read) + sum(idx_tup_fetch))::bigint from pg_stat_user_tables
                 where relname in ('units', 'unit_places')",
            )
            .await
    };
    for query in ["node=node-x".to_owned(), format!("tenant_id={}", tenant())] {
        let path = format!("/v1/stock-units?limit=200&{query}");
        let before = read().await;
        // more often than statements have plans of their own
        for _ in 0..8 {
            let page = replica.admin.get(&path).await.expect(200);
            assert_eq!(page.body["items"].as_array().unwrap().len(), 60, "{query}");
        }
        let rows = eventually("the reads are counted", async || {
            // a session reports what it read with a later transaction
            let _ = replica.admin.get("/v1/stock-units?limit=1").await.expect(200);
            let rows = read().await - before;
            (rows >= 8 * 60).then_some(rows)
        })
        .await;
        assert!(rows < 10_000, "{query}: {rows} rows were read");
    }
}

#[tokio::test]
async fn a_free_unit_is_removed_and_a_used_one_is_not() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    let holder = instance();
    let used = replica.claim(&holder, &spec_id).await.expect(201).str("unit_id").to_owned();
    let free = listed(&replica.admin, "state=available").await;
    let path = |unit: &str| format!("/v1/stock-units/{unit}");

    let refused = replica.admin.delete(&path(&used)).await.expect_problem(409, "unit-in-use");
    assert_eq!(refused.body["instance_id"], json!(holder));
    assert!(refused.str("detail").contains(&holder) && refused.str("next").contains("releases"));

    let admin = replica.admin.key("remove");
    let removal = admin.delete(&path(&free[0])).await.expect(202);
    assert_eq!((removal.str("kind"), &removal.body["progress"]["requested"]), ("remove_stock", &json!(1)));
    assert_eq!(removal.header("location").unwrap(), format!("/v1/stock-operations/{}", removal.str("id")));
    assert_eq!(removal.body["progress"]["gpu_spec"]["name"], "a");
    assert_eq!(replica.numbers().await, [1, 0, 1, 2]);
    // again, with the same key and with another: one removal
    let again = admin.delete(&path(&free[0])).await.expect(202);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let another = replica.admin.delete(&path(&free[0])).await.expect(202);
    assert_eq!((another.str("id"), again.str("id")), (removal.str("id"), removal.str("id")));
    assert_eq!(fixture.count("select count(*) from stock.operations").await, 1);

    // as it is left by the comparison: no claim, but an instance runs in it
    fixture.sql("update stock.units set state = 'inactive', occupied = true where state = 'available'").await;
    let refused = replica.admin.delete(&path(&free[1])).await.expect_problem(409, "unit-in-use");
    assert!(refused.body["instance_id"].is_null());
    fixture.sql("update stock.units set occupied = false where state = 'inactive'").await;
    let _ = replica.admin.delete(&path(&free[1])).await.expect(202);

    // given back, it may go, too
    replica.release(&holder).await;
    let _ = replica.admin.delete(&path(&used)).await.expect(202);
    assert_eq!(replica.numbers().await, [0; 4]);
    replica.claim(&instance(), &spec_id).await.expect_problem(409, "stock-exhausted");
    let nobody = "/v1/stock-units/unit_01939f0a7c3d7e6b8a1f4f0d5c2b1a00";
    replica.admin.delete(nobody).await.expect_problem(404, "not-found");
    replica.admin.delete("/v1/stock-units/x").await.expect_problem(404, "not-found");
    let owner = fixture.user(&replica, auth::Role::Owner);
    for unit in [path(&used), nobody.to_owned()] {
        owner.delete(&unit).await.expect_problem(403, "forbidden");
    }
    fixture.assert_sound().await;

    let audit = replica.admin.get("/v1/platform-stock-audit?limit=200").await.expect(200);
    let removals = audit.body["items"].as_array().unwrap().iter();
    let paths: Vec<_> = removals
        .filter(|entry| entry["operation"] == "DELETE /v1/stock-units/{id}")
        .map(|entry| entry["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(paths, [path(&used), path(&free[1]), path(&free[0]), path(&free[0])]);
}

#[tokio::test]
async fn a_removal_of_one_unit_counts_as_an_operation() {
    let mut fixture = Fixture::new().await;
    fixture.config.max_open_operations = 1;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 3).await;
    let units = listed(&replica.admin, "").await;
    let first = replica.admin.delete(&format!("/v1/stock-units/{}", units[0])).await.expect(202);
    replica
        .admin
        .delete(&format!("/v1/stock-units/{}", units[1]))
        .await
        .expect_problem(409, "too-many-operations");
    // a repetition begins none
    let again = replica.admin.delete(&format!("/v1/stock-units/{}", units[0])).await.expect(202);
    assert_eq!(again.str("id"), first.str("id"));
    assert_eq!(replica.numbers().await, [2, 0, 0, 2]);
}

/// Claims and the removals of all fifty units at once: each unit goes to one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_unit_is_claimed_or_removed() {
    let mut fixture = Fixture::new().await;
    fixture.config.max_open_operations = 1000;
    let replicas = [fixture.replica().await, fixture.replica().await];
    let spec_id = replicas[0].spec("a", "1").await;
    let _ = replicas[0].datacenter("uk-1").await;
    fixture.units("a", "uk-1", 50).await;
    let units = listed(&replicas[0].admin, "").await;
    assert_eq!(units.len(), 50);

    // fewer than units: some are left for removals, however fast the claims are
    let claims = join_all((0..25).map(|n| {
        let (replica, spec) = (&replicas[n % 2], &spec_id);
        async move { replica.claim(&instance(), spec).await }
    }));
    let removals = join_all(units.iter().enumerate().map(|(n, unit)| {
        let admin = &replicas[n % 2].admin;
        async move { (unit.clone(), admin.delete(&format!("/v1/stock-units/{unit}")).await) }
    }));
    let (claims, removals) = tokio::join!(claims, removals);

    let mut claimed = HashSet::new();
    for claim in claims {
        match claim.status {
            201 => assert!(claimed.insert(claim.str("unit_id").to_owned()), "a unit was given twice"),
            _ => drop(claim.expect_problem(409, "stock-exhausted")),
        }
    }
    let mut removed = HashSet::new();
    for (unit, removal) in removals {
        match removal.status {
            202 => assert!(removed.insert(unit)),
            _ => drop(removal.expect_problem(409, "unit-in-use")),
        }
    }
    eprintln!("{} claimed, {} removed", claimed.len(), removed.len());
    assert!(claimed.is_disjoint(&removed), "a unit was claimed and removed");
    assert_eq!(claimed.len() + removed.len(), 50);
    assert!(!claimed.is_empty(), "no claim came before the removals");
    let used = i64::try_from(claimed.len()).unwrap();
    assert_eq!(replicas[0].numbers().await, [0, 0, used, used]);
    fixture.assert_sound().await;
}

/// Fifty removals of one unit at once: one operation.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_unit_is_removed_once() {
    let fixture = Fixture::new().await;
    let replicas = [fixture.replica().await, fixture.replica().await];
    let _ = replicas[0].spec("a", "1").await;
    let _ = replicas[0].datacenter("uk-1").await;
    fixture.units("a", "uk-1", 2).await;
    let unit = listed(&replicas[0].admin, "").await.remove(0);
    let path = format!("/v1/stock-units/{unit}");
    let removals = join_all((0..50).map(|n| replicas[n % 2].admin.delete(&path))).await;
    let operations: HashSet<_> =
        removals.into_iter().map(|removal| removal.expect(202).str("id").to_owned()).collect();
    assert_eq!(operations.len(), 1);
    assert_eq!(fixture.count("select count(*) from stock.operation_units").await, 1);
    assert_eq!(replicas[0].numbers().await, [1, 0, 0, 1]);
    fixture.assert_sound().await;
}
