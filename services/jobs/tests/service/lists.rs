//! The list of jobs: orders, filters, fields and totals.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::Client;

use crate::fixture::{Fixture, Service, fox, pool, submit};

/// Whether an item is in a list.
type Has<'a> = &'a dyn Fn(&Value) -> bool;

const SORTS: [&str; 6] = ["created_at", "-created_at", "ended_at", "-ended_at", "cost", "-cost"];

/// Sets kind, end and cost of each job by its number in the order of submission.
const MIX: &str = "
    update jobs.jobs j set
        kind = (array['generation', 'training', 'batch'])[1 + n % 3],
        state = s.state,
        worker_id = case when s.state = 'running' then gen_random_uuid() end,
        problem = case when s.state = 'failed' then '{\"code\": \"engine-failed\", \"message\": \"\"}'::jsonb end,
        ended_at = case when s.state not in ('queued', 'running') then timestamptz '2026-11-01' + make_interval(secs => n % 11) end,
        cost = (array[null, 0, 0.5, 20000000000, 0.000000001])[1 + n % 5],
        cost_currency = case when n % 5 > 0 then 'USD' end
    from (select id, row_number() over (order by id) as n from jobs.jobs) numbered,
         lateral (select (array['queued', 'succeeded', 'failed', 'cancelled', 'expired', 'running', 'succeeded'])[1 + n % 7]) s(state)
    where j.id = numbered.id";

/// A tenant with 60 jobs, and another with 6.
struct Studio {
    fixture: Fixture,
    service: Service,
    member: Client,
    other: Client,
}

impl Studio {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let service = fixture.start().await;
        let _ = pool(&fixture.admin(&service)).await;
        let [member, other] = [(); 2].map(|()| fixture.member(&service, TenantId::new()));
        for (client, count) in [(&member, 60), (&other, 6)] {
            let jobs: Vec<Value> = (0..count).map(Self::order).collect();
            let made = client.post("/v1/job-batches", json!({ "jobs": jobs })).await.expect(202).body;
            assert!(made["items"].as_array().unwrap().iter().all(|item| item["problem"].is_null()), "{made}");
        }
        let studio = Self { fixture, service, member, other };
        studio.execute(MIX).await;
        studio
    }

    fn order(n: usize) -> Value {
        let mut order = fox();
        order["level"] = json!(["urgent", "ordinary", "background"][n % 2 + n % 5 / 4]);
        if n.is_multiple_of(4) {
            order["group"] = json!("campaign");
        }
        order
    }

    async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(&mut self.fixture.db.admin().await).await.unwrap();
    }
}

/// All items of a list, page by page. `between` runs after each page but the last.
async fn walk(client: &Client, query: &str, between: impl AsyncFn()) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/jobs?limit=7{query}{cursor}")).await.expect(200).body;
        assert_eq!(page["unreadable"], json!([]));
        found.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { return found };
        cursor = format!("&cursor={next}");
        between().await;
    }
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

/// What jobs are ordered by, without the direction: the API says it in words, and Postgres in another way.
fn key<'a>(job: &'a Value, sort: &str) -> (String, &'a str) {
    let key = match sort.trim_start_matches('-') {
        "ended_at" => job["ended_at"].as_str().unwrap_or("9999").to_owned(),
        "cost" => {
            let amount = job["cost"]["amount"].as_str().unwrap_or("0");
            let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
            format!("{whole:0>20}.{fraction:0<20}")
        }
        _ => String::new(),
    };
    (key, job["id"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_order_and_filter_has_the_jobs_that_it_should_once() {
    let studio = Studio::new().await;
    let all = walk(&studio.member, "", async || {}).await;
    assert_eq!(all.len(), 60);
    let is = |name: &'static str, values: &'static [&'static str]| {
        move |job: &Value| values.contains(&job[name].as_str().unwrap_or_default())
    };
    let any = |_: &Value| true;
    let filters: [(&str, Has<'_>); 12] = [
        ("", &any),
        ("&state=failed", &is("state", &["failed"])),
        ("&state=failed,queued,failed", &is("state", &["failed", "queued"])),
        ("&state=queued,running", &is("state", &["queued", "running"])),
        ("&kind=training", &is("kind", &["training"])),
        ("&level=urgent", &is("level", &["urgent"])),
        ("&application=stable-diffusion", &any),
        ("&application=other", &|_| false),
        ("&group=campaign", &is("group", &["campaign"])),
        ("&group=campaign&state=succeeded", &|job| {
            is("group", &["campaign"])(job) && is("state", &["succeeded"])(job)
        }),
        ("&kind=batch&state=expired,succeeded", &|job| {
            is("kind", &["batch"])(job) && is("state", &["expired", "succeeded"])(job)
        }),
        ("&kind=batch&level=urgent&state=running", &|job| {
            is("kind", &["batch"])(job) && is("level", &["urgent"])(job) && is("state", &["running"])(job)
        }),
    ];
    let mut checked = 0;
    for (filter, has) in filters {
        for sort in SORTS {
            let mut expected: Vec<Value> = all.iter().filter(|job| has(job)).cloned().collect();
            expected.sort_by_cached_key(|job| {
                let (key, id) = key(job, sort);
                (key, id.to_owned())
            });
            if sort.starts_with('-') {
                expected.reverse();
            }
            let query = format!("{filter}&sort={sort}");
            let found = walk(&studio.member, &query, async || {}).await;
            assert_eq!(ids(&found), ids(&expected), "{query}");
            let counted =
                studio.member.get(&format!("/v1/jobs?limit=1&include=total{query}")).await.expect(200);
            assert_eq!(
                counted.body["total"],
                json!({ "count": expected.len(), "is_exact": true }),
                "{query}"
            );
            checked += found.len();
        }
    }
    eprintln!("{checked} jobs in {} lists", filters.len() * SORTS.len());
    assert!(checked > 1_000, "the filters find hardly anything");
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_each_job_once_while_others_are_added_and_end() {
    let studio = Studio::new().await;
    let made: Vec<String> =
        ids(&walk(&studio.member, "", async || {}).await).iter().map(|id| (*id).to_owned()).collect();
    for sort in SORTS {
        let seen = walk(&studio.member, &format!("&sort={sort}"), async || {
            let added = submit(&studio.member, json!({})).await.str("id").to_owned();
            let _ = studio.member.post(&format!("/v1/jobs/{added}/cancel"), Value::Null).await.expect(202);
        })
        .await;
        let counts = made.iter().map(|id| seen.iter().filter(|job| job["id"] == **id).count());
        assert_eq!(counts.collect::<Vec<_>>(), vec![1; made.len()], "{sort}");
    }
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_list_is_named() {
    let studio = Studio::new().await;
    let first = studio.member.get("/v1/jobs?limit=1&sort=cost").await.expect(200);
    let cursor = first.str("next_cursor");
    let second = studio.member.get(&format!("/v1/jobs?limit=1&sort=cost&state=failed&cursor={cursor}")).await;
    assert_eq!(
        second.expect(200).body["items"][0]["state"],
        "failed",
        "with another filter, a cursor is as good"
    );
    for (query, field, detail) in [
        ("state=lost", "state", "`lost`"),
        ("state=running,", "state", "expected"),
        ("state=running&state=failed", "query", "duplicate"),
        ("sort=priority", "sort", "expected one of `created_at`, `-created_at`, `ended_at`"),
        ("fields=state,prompt", "fields", "`prompt`"),
        ("include=count", "include", "expected `total`"),
        (&format!("cursor={cursor}"), "cursor", "another order"),
        (&format!("sort=-cost&cursor={cursor}"), "cursor", "another order"),
    ] {
        let refused =
            studio.member.get(&format!("/v1/jobs?{query}")).await.expect_problem(422, "invalid-field");
        let error = &refused.body["errors"][0];
        assert_eq!(error["pointer"], field, "{query}: {}", refused.text);
        assert!(error["detail"].as_str().unwrap().contains(detail), "{query}: {}", refused.text);
    }
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_jobs_are_in_no_list() {
    let studio = Studio::new().await;
    let theirs = walk(&studio.other, "", async || {}).await;
    assert_eq!(theirs.len(), 6);
    for sort in SORTS {
        let ours = walk(&studio.member, &format!("&sort={sort}"), async || {}).await;
        assert!(ids(&ours).iter().all(|id| !ids(&theirs).contains(id)), "{sort}");
        let cursor = studio.member.get(&format!("/v1/jobs?limit=1&sort={sort}")).await.expect(200);
        let cursor = cursor.str("next_cursor");
        let path = format!("/v1/jobs?limit=200&sort={sort}&cursor={cursor}&include=total");
        let page = studio.other.get(&path).await.expect(200).body;
        let found = page["items"].as_array().unwrap();
        assert!(ids(found).iter().all(|id| ids(&theirs).contains(id)), "{sort}");
        assert_eq!(page["total"]["count"], 6, "{sort}");
    }
    studio.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_requested_fields_and_a_bounded_total() {
    let studio = Studio::new().await;
    let whole = studio.member.get("/v1/jobs?limit=1").await.expect(200).body;
    assert_eq!(whole["total"], Value::Null, "only if it is asked for");
    let some = studio.member.get("/v1/jobs?limit=1&fields=state,cost").await.expect(200).body;
    let job = &whole["items"][0];
    assert_eq!(some["items"], json!([{ "id": job["id"], "state": job["state"], "cost": job["cost"] }]));
    for name in job.as_object().unwrap().keys() {
        let one = studio.member.get(&format!("/v1/jobs?limit=1&fields={name}")).await.expect(200).body;
        assert!(one["items"][0].get(name).is_some(), "{name}");
    }
    studio
        .execute(
            "insert into jobs.jobs (id, tenant_id, pool_id, application, method, kind, level, priority, class, state, ended_at)
             select gen_random_uuid(), tenant_id, pool_id, application, method, 'batch', level, priority, class, 'expired', now()
             from (select * from jobs.jobs order by id limit 1) first_of_member, generate_series(1, 10000)",
        )
        .await;
    for (query, count, is_exact) in
        [("", 10_000, false), ("&state=expired", 10_000, false), ("&kind=training", 20, true)]
    {
        let page =
            studio.member.get(&format!("/v1/jobs?limit=1&include=total{query}")).await.expect(200).body;
        assert_eq!(page["total"], json!({ "count": count, "is_exact": is_exact }), "{query}");
    }
    studio.service.stop().await;
}
