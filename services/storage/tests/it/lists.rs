//! Lists of storages: orders, filters, fields and totals.

use atelier_storage::LimitsConfig;
use ids::TenantId;
use serde_json::{Value, json};
use testkit::Client;

use crate::fixture::{Fixture, Service, make, specs};

/// Whether an item is in a list.
type Has<'a> = &'a dyn Fn(&Value) -> bool;

const SORTS: [&str; 6] = ["created_at", "-created_at", "name", "-name", "size_gib", "-size_gib"];
const NAMES: [&str; 11] = ["m", "Köln", "b", "a", "B one", "m two", "KÖLN 2", "z%", "m 3", "a_b", "1\\x"];

struct Studio {
    fixture: Fixture,
    service: Service,
    tenant: TenantId,
    stranger: TenantId,
}

impl Studio {
    /// Eleven storages of a tenant in several states, of three sizes, and two of another tenant.
    async fn new() -> Self {
        let mut fixture = Fixture::new().await;
        // the states below are not those of the object store
        fixture.config.reconcile.compare_seconds = 3_600;
        fixture.config.limits = LimitsConfig { storages_per_tenant: 1_000, ..LimitsConfig::default() };
        let service = fixture.start().await;
        specs(&fixture.admin(&service)).await;
        let studio = Self { fixture, service, tenant: TenantId::new(), stranger: TenantId::new() };
        for (n, name) in NAMES.iter().enumerate() {
            make(&studio.member(), name, "archive", 1 + i64::try_from(n % 3).unwrap()).await;
        }
        for name in ["m", "theirs"] {
            make(&studio.other(), name, "archive", 2).await;
        }
        studio
            .execute(
                "update storage.storages set state = 'failed', reason = 'bucket_lost', message = '', wake_at = 'infinity'
                 where name like 'm%' or name = 'theirs'",
            )
            .await;
        studio
    }

    fn member(&self) -> Client {
        self.fixture.member(&self.service, self.tenant)
    }

    fn other(&self) -> Client {
        self.fixture.member(&self.service, self.stranger)
    }

    /// The list as its tenant sees it, and as an administrator does.
    fn lists(&self) -> [(Client, String); 2] {
        let of_all = format!("/v1/platform-storages?tenant_id={}", self.tenant);
        [(self.member(), "/v1/storages?".to_owned()), (self.fixture.admin(&self.service), of_all)]
    }

    async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(&mut self.fixture.db.admin().await).await.unwrap();
    }
}

/// All items of a list, three a page. `between` runs after each page but the last.
async fn walk(client: &Client, list: &str, between: impl AsyncFn(usize)) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{list}&limit=3{cursor}")).await.expect(200).body;
        found.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { return found };
        cursor = format!("&cursor={next}");
        between(found.len()).await;
    }
}

/// What storages are ordered by, without the direction.
fn key(storage: &Value, sort: &str) -> (i64, String, String) {
    let text = |name: &str| storage[name].as_str().unwrap().to_lowercase();
    match sort.trim_start_matches('-') {
        "name" => (0, text("name"), text("id")),
        "size_gib" => (storage["size_gib"].as_i64().unwrap(), String::new(), text("id")),
        _ => (0, String::new(), text("id")),
    }
}

fn names(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_order_and_filter_has_the_storages_that_it_should_once() {
    let studio = Studio::new().await;
    let named =
        |part: &'static str| move |it: &Value| it["name"].as_str().unwrap().to_lowercase().contains(part);
    let failed = |it: &Value| it["state"] == "failed";
    let filters: [(&str, Has<'_>); 13] = [
        ("", &|_| true),
        ("&state=failed", &failed),
        ("&state=available,failed,available", &|_| true),
        ("&state=deleting,pending", &|_| false),
        ("&kind=bucket", &|_| true),
        ("&kind=volume", &|_| false),
        ("&name=ONE", &named("one")),
        ("&name=m&state=failed", &failed),
        ("&name=%25", &named("%")),
        ("&name=_", &named("_")),
        ("&name=%5C", &named("\\")),
        ("&name=%C3%96LN", &named("köln")),
        ("&name=KO%CC%88", &named("kö")),
    ];
    for (client, list) in studio.lists() {
        let all = walk(&client, &list, async |_| {}).await;
        assert_eq!(all.len(), NAMES.len());
        for (filter, has) in filters {
            for sort in SORTS {
                let mut expected: Vec<Value> = all.iter().filter(|it| has(it)).cloned().collect();
                expected.sort_by_cached_key(|it| key(it, sort));
                if sort.starts_with('-') {
                    expected.reverse();
                }
                let path = format!("{list}{filter}&sort={sort}");
                assert_eq!(names(&walk(&client, &path, async |_| {}).await), names(&expected), "{path}");
                let counted = client.get(&format!("{path}&limit=1&include=total")).await.expect(200).body;
                assert_eq!(counted["total"], json!({ "count": expected.len(), "is_exact": true }), "{path}");
            }
        }
    }
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_each_storage_once_while_others_are_added() {
    let studio = Studio::new().await;
    for (n, (client, list)) in studio.lists().into_iter().enumerate() {
        for (m, sort) in SORTS.into_iter().enumerate() {
            let seen = walk(&client, &format!("{list}&sort={sort}"), async |found| {
                if found < 10 {
                    // before and after the position, in any order
                    for part in ["0", "m", "\u{ff5a}"] {
                        let name = format!("{part} {n} {m} {found}");
                        let order = json!({ "name": name, "storage_spec": "archive", "size_gib": 2 });
                        let _ = studio.member().post("/v1/storages", order).await.expect(202);
                    }
                }
            })
            .await;
            let counts = NAMES.iter().map(|name| names(&seen).iter().filter(|seen| seen == &name).count());
            assert_eq!(counts.collect::<Vec<_>>(), vec![1; NAMES.len()], "{list}&sort={sort}");
            let mut ordered = seen.clone();
            ordered.sort_by_cached_key(|it| key(it, sort));
            if sort.starts_with('-') {
                ordered.reverse();
            }
            assert_eq!(names(&seen), names(&ordered), "{list}&sort={sort}");
        }
    }
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_list_is_named() {
    let studio = Studio::new().await;
    for (client, list) in studio.lists() {
        let first = client.get(&format!("{list}&limit=1&sort=name")).await.expect(200);
        let cursor = first.str("next_cursor");
        for (query, field, detail) in [
            ("&state=lost", "state", "`lost`"),
            ("&state=", "state", "expected"),
            (
                "&sort=size",
                "sort",
                "expected one of `created_at`, `-created_at`, `name`, `-name`, `size_gib`",
            ),
            ("&fields=name,cluster", "fields", "`cluster`"),
            ("&include=count", "include", "expected `total`"),
            (&format!("&cursor={cursor}"), "cursor", "another order"),
        ] {
            let refused = client.get(&format!("{list}{query}")).await.expect_problem(422, "invalid-field");
            let error = &refused.body["errors"][0];
            assert_eq!(error["pointer"], field, "{query}: {}", refused.text);
            assert!(error["detail"].as_str().unwrap().contains(detail), "{query}: {}", refused.text);
        }
    }
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_storages_are_in_no_list() {
    let studio = Studio::new().await;
    for sort in SORTS {
        let first = studio.member().get(&format!("/v1/storages?limit=1&sort={sort}")).await.expect(200);
        let cursor = first.str("next_cursor");
        for after in [String::new(), format!("&cursor={cursor}")] {
            let path = format!("/v1/storages?limit=200&sort={sort}{after}&include=total");
            let theirs = studio.other().get(&path).await.expect(200).body;
            let found = names(theirs["items"].as_array().unwrap());
            assert!(found.iter().all(|name| ["m", "theirs"].contains(name)), "{path}: {found:?}");
            assert_eq!(theirs["total"]["count"], 2, "{path}");
        }
    }
    let all = studio.fixture.admin(&studio.service);
    let all = all.get("/v1/platform-storages?include=total&sort=name&name=m").await.expect(200).body;
    assert_eq!(names(all["items"].as_array().unwrap()), ["m", "m", "m 3", "m two"]);
    assert_eq!(all["total"]["count"], 4);
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_requested_fields_and_a_bounded_total() {
    let studio = Studio::new().await;
    for (client, list) in studio.lists() {
        let whole = client.get(&format!("{list}&limit=1")).await.expect(200).body;
        assert_eq!(whole["total"], Value::Null, "only if it is asked for");
        let storage = &whole["items"][0];
        let some = client.get(&format!("{list}&limit=1&fields=name,size_gib")).await.expect(200).body;
        let expected =
            json!({ "id": storage["id"], "name": storage["name"], "size_gib": storage["size_gib"] });
        assert_eq!(some["items"], json!([expected]));
        for name in storage.as_object().unwrap().keys() {
            let one = client.get(&format!("{list}&limit=1&fields={name}")).await.expect(200).body;
            assert!(one["items"][0].get(name).is_some(), "{name}");
        }
    }
    studio
        .execute(
            "insert into storage.storages (id, tenant_id, name, spec_id, kind, size_gib, access_mode, price_per_gib_month,
                 currency, state, operation_id, wake_at)
             select gen_random_uuid(), tenant_id, 'x' || n, spec_id, kind, size_gib, access_mode, price_per_gib_month,
                    currency, 'available', operation_id, 'infinity'
             from (select * from storage.storages order by id limit 1) first_of_member, generate_series(1, 10000) n",
        )
        .await;
    for (client, list) in studio.lists() {
        for (query, count, is_exact) in [("", 10_000, false), ("&name=x1", 1_112, true)] {
            let page = client.get(&format!("{list}{query}&limit=1&include=total")).await.expect(200).body;
            assert_eq!(page["total"], json!({ "count": count, "is_exact": is_exact }), "{list}{query}");
        }
    }
    studio.service.stop().await;
}
