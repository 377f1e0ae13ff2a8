//! Lists of instances: orders, filters, fields and totals.

use auth::Role;
use ids::TenantId;
use serde_json::{Value, json};
use testkit::Client;

use crate::harness::{Fixture, Setup};

const SORTS: [&str; 4] = ["created_at", "-created_at", "name", "-name"];

impl Fixture {
    /// Without workers, in which instances of these names are stopped.
    async fn with_instances(names: &[&str]) -> (Self, Vec<String>) {
        let fixture = Self::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
        let ids = make(&fixture.member(), names).await;
        (fixture, ids)
    }

    /// The list as its tenant sees it, and as an administrator does.
    fn lists(&self) -> [(Client, String); 2] {
        let of_all = format!("/v1/platform-instances?tenant_id={}", self.tenant);
        [(self.member(), "/v1/instances?".to_owned()), (self.admin(), of_all)]
    }

    /// Deletes those with names that begin with `b`; those with `c` are gone.
    async fn delete_some(&self, all: &[&str], ids: &[String]) {
        for (_, id) in all.iter().zip(ids).filter(|(name, _)| name.starts_with('b')) {
            let _ = self.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
        }
        let gone = "update gpu.instances set phase = '{\"state\": \"deleted\"}' where name like 'c%'";
        assert_eq!(self.execute(gone).await, 1);
    }
}

async fn make(client: &Client, names: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for name in names {
        let mut order = Fixture::stopped_order();
        order["name"] = json!(name);
        ids.push(client.post("/v1/instances", order).await.expect(202).str("id").to_owned());
    }
    ids
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_each_instance_once_in_every_order_while_others_are_added() {
    let names = ["m", "Köln", "b", "a", "B", "m", "KÖLN 2", "z%", "m", "a_b", "1"];
    let (fixture, made) = Fixture::with_instances(&names).await;
    for (client, list) in fixture.lists() {
        for sort in SORTS {
            let (mut seen, mut cursor) = (Vec::<(String, String)>::new(), String::new());
            loop {
                let page = client.get(&format!("{list}&limit=3&sort={sort}{cursor}")).await.expect(200).body;
                seen.extend(page["items"].as_array().unwrap().iter().map(|item| {
                    let text = |name: &str| item[name].as_str().unwrap().to_owned();
                    (text("name").to_lowercase(), text("id"))
                }));
                let Some(next) = page["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
                if seen.len() < 10 {
                    // before and after the position, in any order
                    make(&fixture.member(), &["0", "m", "\u{ff5a}"]).await;
                }
                assert!(seen.len() < 500, "the pages have no end");
            }
            let found = made.iter().map(|id| seen.iter().filter(|(_, seen)| seen == id).count());
            assert_eq!(found.collect::<Vec<_>>(), vec![1; made.len()], "{list} {sort}: {seen:?}");
            let mut ordered = seen.clone();
            if sort.ends_with("name") {
                ordered.sort();
            } else {
                ordered.sort_by(|one, other| one.1.cmp(&other.1));
            }
            if sort.starts_with('-') {
                ordered.reverse();
            }
            ordered.dedup();
            assert_eq!(seen, ordered, "{list} {sort}");
            eprintln!("{sort}: {} instances", seen.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_instances_of_these_states_and_names() {
    let all = ["a one", "a Two", "b one", "b 100%", "c one", "A_x\\y", "Köln"];
    let (fixture, ids) = Fixture::with_instances(&all).await;
    fixture.delete_some(&all, &ids).await;
    for (client, list) in fixture.lists() {
        for (query, expected) in [
            ("", &["a one", "a two", "a_x\\y", "b 100%", "b one", "köln"] as &[&str]),
            ("&state=deleting", &["b 100%", "b one"]),
            ("&state=stopped,deleting,stopped", &["a one", "a two", "a_x\\y", "b 100%", "b one", "köln"]),
            ("&state=running,pending", &[]),
            ("&name=ONE", &["a one", "b one"]),
            ("&name=ONE&state=stopped", &["a one"]),
            ("&name=o", &["a one", "a two", "b one"]),
            ("&name=", &["a one", "a two", "a_x\\y", "b 100%", "b one", "köln"]),
            ("&name=%25", &["b 100%"]),
            ("&name=_", &["a_x\\y"]),
            ("&name=%5C", &["a_x\\y"]),
            ("&name=%C3%96LN", &["köln"]),
            ("&name=KO%CC%88", &["köln"]),
            ("&name=zzz", &[]),
        ] {
            let page = client.get(&format!("{list}{query}&sort=name&include=total")).await.expect(200).body;
            let found: Vec<_> = names(&page).iter().map(|name| name.to_lowercase()).collect();
            assert_eq!(found, expected, "{list}{query}");
            assert_eq!(page["total"], json!({ "count": expected.len(), "is_exact": true }), "{list}{query}");
            assert_eq!(page["next_cursor"], Value::Null, "{list}{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_list_is_named() {
    let (fixture, _) = Fixture::with_instances(&["a", "b"]).await;
    let operations = fixture.member().get("/v1/instance-operations?limit=1").await.expect(200);
    let foreign = format!("&cursor={}", operations.str("next_cursor"));
    for (client, list) in fixture.lists() {
        let first = client.get(&format!("{list}&limit=1&sort=name")).await.expect(200);
        let cursor = first.str("next_cursor");
        let second = client.get(&format!("{list}&sort=name&state=stopped&cursor={cursor}")).await.expect(200);
        assert_eq!(names(&second.body), ["b"], "with another filter, a cursor is as good");
        for (query, field, detail) in [
            ("&state=lost", "state", "`lost`"),
            ("&state=running,lost", "state", "`lost`"),
            ("&state=", "state", "expected"),
            ("&state=running&state=stopped", "query", "duplicate"),
            ("&sort=price", "sort", "expected one of `created_at`, `-created_at`, `name`, `-name`"),
            ("&sort=%2Bname", "sort", "`+name`"),
            ("&fields=name,secret", "fields", "`secret`"),
            ("&fields=gpu_spec.id", "fields", "`gpu_spec.id`"),
            ("&include=count", "include", "expected `total`"),
            ("&order=name", "order", "unknown field"),
            ("&limit=many", "limit", "invalid digit"),
            (&foreign, "cursor", "not a cursor of this list"),
            (&format!("&cursor={cursor}"), "cursor", "another order"),
            (&format!("&sort=-name&cursor={cursor}"), "cursor", "another order"),
        ] {
            let refused = client.get(&format!("{list}{query}")).await.expect_problem(422, "invalid-field");
            let error = &refused.body["errors"][0];
            assert_eq!(error["pointer"], field, "{query}: {}", refused.text);
            assert!(error["detail"].as_str().unwrap().contains(detail), "{query}: {}", refused.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_instances_are_in_no_list() {
    let (fixture, _) = Fixture::with_instances(&["ours", "ours too"]).await;
    let stranger = fixture.user(TenantId::new(), Role::Owner);
    make(&stranger, &["theirs", "ours?"]).await;
    let cursor = fixture.member().get("/v1/instances?limit=1&sort=name").await.expect(200);
    for query in [
        "?sort=name".to_owned(),
        "?sort=-created_at".to_owned(),
        "?name=ours&sort=name".to_owned(),
        format!("?sort=name&cursor={}", cursor.str("next_cursor")),
    ] {
        let path = format!("/v1/instances{query}&include=total");
        let (own, other) = (fixture.member().get(&path).await, stranger.get(&path).await);
        let (own, other) = (own.expect(200).body, other.expect(200).body);
        assert!(names(&own).iter().all(|name| ["ours", "ours too"].contains(name)), "{own}");
        assert!(names(&other).iter().all(|name| ["theirs", "ours?"].contains(name)), "{other}");
        let expected = if query.contains("name=ours") { 1 } else { 2 };
        assert_eq!(other["total"]["count"], expected, "{query}");
        assert_eq!(own["total"]["count"], 2, "{query}");
    }
    let all = fixture.admin().get("/v1/platform-instances?include=total&sort=name").await.expect(200).body;
    assert_eq!(names(&all), ["ours", "ours too", "ours?", "theirs"]);
    assert_eq!(all["total"]["count"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_requested_fields_and_a_bounded_total() {
    let (fixture, ids) = Fixture::with_instances(&["a"]).await;
    for (client, list) in fixture.lists() {
        let whole = client.get(&list).await.expect(200).body;
        assert_eq!(whole["total"], Value::Null, "only if it is asked for");
        let some = client.get(&format!("{list}&fields=name,gpu_spec,message")).await.expect(200).body;
        let expected = json!({
            "id": ids[0], "name": "a", "gpu_spec": whole["items"][0]["gpu_spec"], "message": null,
        });
        assert_eq!(some["items"], json!([expected]));
        // the fields that are offered are those that items have
        for name in whole["items"][0].as_object().unwrap().keys() {
            let one = client.get(&format!("{list}&fields={name}")).await.expect(200).body;
            assert!(one["items"][0].get(name).is_some(), "{name}");
        }
    }
    fixture
        .execute(
            "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id, operation_kind)
             select gen_random_uuid(), tenant_id, name || n, spec, phase, attempt, restart, meter, operation_id, operation_kind
             from gpu.instances, generate_series(1, 10000) n",
        )
        .await;
    for (client, list) in fixture.lists() {
        for (query, count, is_exact) in [("", 10_000, false), ("&name=a1", 1_112, true)] {
            let page = client.get(&format!("{list}{query}&limit=1&include=total")).await.expect(200).body;
            assert_eq!(page["total"], json!({ "count": count, "is_exact": is_exact }), "{list}{query}");
        }
    }
}
