//! Reports of what jobs cost: they say what the jobs and the feed say, in any window.

use std::collections::BTreeMap;

use auth::Role;
use ids::TenantId;
use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, eventually};

use crate::{
    costs::{Till, charged},
    fleet::Worker,
    uploads::{pictures, training},
};

const DAY: i64 = 86_400;
/// A midnight.
const BEGIN: i64 = 1_788_220_800;

fn number(value: &Value) -> Decimal {
    value.as_str().unwrap().parse().unwrap()
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// All groups of the report about now.
async fn report(till: &Till, client: &Client, path: &str, group_by: &str) -> Vec<Value> {
    let (from, to) = (till.fixture.in_seconds(-DAY), till.fixture.in_seconds(DAY));
    let path = format!("{path}?from={from}&to={to}&group_by={group_by}&limit=200");
    client.get(&path).await.expect(200).body["items"].as_array().unwrap().clone()
}

impl Till {
    async fn groups(&self, group_by: &str) -> BTreeMap<String, Value> {
        let groups = report(self, &self.member, "/v1/job-usage", group_by).await;
        groups.into_iter().map(|group| (group["group"].as_str().unwrap().to_owned(), group)).collect()
    }

    /// What the feed says that was charged, in seconds and money.
    async fn fed(&self) -> (i64, Decimal) {
        let mut latest = BTreeMap::new();
        for record in self.usage().await {
            latest.insert(record["run_id"].to_string(), record);
        }
        let seconds = latest.values().map(|record| record["seconds"].as_i64().unwrap()).sum();
        (seconds, latest.values().map(|record| number(&record["amount"])).sum())
    }

    /// What the jobs themselves cost.
    async fn costs(&self, jobs: &[&str]) -> (i64, Decimal) {
        let mut sum = (0, Decimal::ZERO);
        for job in jobs {
            let cost = self.cost(job).await;
            if cost != Value::Null {
                sum.0 += cost["seconds"].as_i64().unwrap();
                sum.1 += number(&cost["amount"]);
            }
        }
        sum
    }

    /// Waits until the sums by day are complete.
    async fn is_added(&self) {
        let mut conn = self.fixture.db.admin().await;
        eventually("all changes are added to the sums", async || {
            let left = "select count(*) from jobs.usage_changes";
            let left: i64 = sqlx::query_scalar(left).fetch_one(&mut conn).await.unwrap();
            (left == 0).then_some(())
        })
        .await;
        conn.close().await.unwrap();
    }
}

fn summed<'a>(groups: impl IntoIterator<Item = &'a Value>) -> (i64, Decimal) {
    let add = |sum: (i64, Decimal), group: &Value| {
        (sum.0 + group["seconds"].as_i64().unwrap(), sum.1 + number(&group["amount"]))
    };
    groups.into_iter().fold((0, Decimal::ZERO), add)
}

#[tokio::test]
async fn a_report_says_what_the_jobs_and_the_feed_say() {
    let mut till = Till::new().await;
    let job = async |till: &Till, body: Value| {
        till.member.post("/v1/jobs", body).await.expect(202).str("id").to_owned()
    };
    let images = pictures(&till.member, 3).await;
    // a training that has paid for a checkpoint, and goes on with another worker's process
    let trained = job(&till, training(&images)).await;
    let first = till.work().await;
    till.store_checkpoint(&first, 100, "one").await;
    till.execute("update jobs.checkpoints set created_at = now() - interval '20 s'").await;
    let _ = till.worker.fail(&first, true).await.expect(200);
    let second = till.work().await;
    let open = till.groups("charge").await;
    assert_eq!(
        (&open["open"]["open_attempts"], &open["open"]["attempts"]),
        (&json!(1), &json!(0)),
        "{open:?}"
    );
    assert_eq!((&open["charged"]["attempts"], &open["charged"]["uncharged_seconds"]), (&json!(1), &json!(0)));
    assert_eq!(summed(open.values()), till.fed().await);
    assert_eq!(summed(open.values()), till.costs(&[&trained]).await);
    assert!(open["charged"]["seconds"].as_i64().unwrap() >= 40, "{open:?}");
    assert!(open["failed"]["uncharged_seconds"].as_i64().unwrap() > 0, "{open:?}");
    till.is_added().await;
    assert_eq!(till.groups("charge").await, open);
    // in the end it fails, and pays nothing
    let _ = till.worker.fail(&second, false).await.expect(200);
    let failed = till.groups("charge").await;
    assert_eq!(failed.keys().collect::<Vec<_>>(), ["job_failed"]);
    assert_eq!(
        (&failed["job_failed"]["attempts"], &failed["job_failed"]["amount"]),
        (&json!(2), &json!("0"))
    );

    // pictures that pay, at two levels; one that is lost; one without a price
    let drawn = job(&till, crate::fixture::fox()).await;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    let mut body = crate::fixture::fox();
    body["level"] = json!("background");
    let cheap = job(&till, body).await;
    let _ = till.work().await;
    let mut worker = Worker::with_token(&till.service, &till.worker.id, &till.worker.token);
    worker.register().await;
    till.worker = worker;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    till.execute("delete from jobs.pool_prices").await;
    till.gpu_away();
    let free = job(&till, crate::fixture::fox()).await;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    let jobs = [&*trained, &*drawn, &*cheap, &*free];
    assert_eq!(charged(&till.attempt(&free, 1).await).2, Some("no_price"));

    let (paid, costs) = (till.fed().await, till.costs(&jobs).await);
    assert_eq!(paid, costs);
    assert!(paid.1 > Decimal::ZERO);
    for added in [false, true] {
        if added {
            till.is_added().await;
        }
        for group_by in ["day", "kind", "application", "pool", "spec", "charge"] {
            let page = report(&till, &till.member, "/v1/job-usage", group_by).await;
            assert_eq!(summed(&page), paid, "{group_by}: {page:?}");
            let attempts: i64 = page.iter().map(|group| group["attempts"].as_i64().unwrap()).sum();
            assert_eq!(attempts, 6, "{group_by}: {page:?}");
            let admin = till.fixture.admin(&till.service);
            assert_eq!(report(&till, &admin, "/v1/platform-job-usage", group_by).await, page);
        }
    }
    let kinds = till.groups("kind").await;
    assert_eq!((&kinds["training"]["amount"], &kinds["training"]["attempts"]), (&json!("0"), &json!(2)));
    assert_eq!(till.groups("pool").await.into_keys().collect::<Vec<_>>(), [till.pool.clone()]);
    let charges = till.groups("charge").await;
    assert_eq!(
        (&charges["no_price"]["currency"], &charges["no_price"]["attempts"], &charges["charged"]["attempts"]),
        (&Value::Null, &json!(1), &json!(2))
    );
    assert_eq!(charges["lost"]["attempts"], 1);

    // what was paid stays when the jobs are deleted
    let before = report(&till, &till.member, "/v1/job-usage", "charge").await;
    till.execute("delete from jobs.jobs").await;
    assert_eq!(report(&till, &till.member, "/v1/job-usage", "charge").await, before);
    till.service.stop().await;
}

#[tokio::test]
async fn a_report_is_of_the_own_tenant_and_has_pages() {
    let till = Till::new().await;
    let _ = crate::fixture::submit(&till.member, json!({})).await;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    // charged seconds, and those of loading
    let all = report(&till, &till.member, "/v1/job-usage", "charge").await;
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page =
            till.member.get(&format!("/v1/job-usage?group_by=charge&limit=1{cursor}")).await.expect(200);
        assert_eq!(page.body["items"].as_array().unwrap().len(), 1);
        pages.push(page.body["items"][0].clone());
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((pages.len(), pages), (2, all));

    let viewer = till.service.client.token(&till.fixture.issuer.user(till.tenant, Role::Viewer));
    assert_eq!(report(&till, &viewer, "/v1/job-usage", "day").await.len(), 1);
    let stranger = till.fixture.member(&till.service, TenantId::new());
    assert_eq!(report(&till, &stranger, "/v1/job-usage", "day").await, Vec::<Value>::new());
    let admin = till.fixture.admin(&till.service);
    let tenants = report(&till, &admin, "/v1/platform-job-usage", "tenant").await;
    assert_eq!((tenants.len(), &tenants[0]["group"]), (1, &json!(till.tenant)));
    for (tenant, groups) in [(till.tenant, 1), (TenantId::new(), 0)] {
        let path = format!("/v1/platform-job-usage?tenant_id={tenant}");
        assert_eq!(admin.get(&path).await.expect(200).body["items"].as_array().unwrap().len(), groups);
    }
    till.member.get("/v1/platform-job-usage").await.expect_problem(403, "forbidden");
    for wrong in [
        format!("from={}&to={}", time(BEGIN), time(BEGIN)),
        format!("from={}&to={}", time(BEGIN), time(BEGIN + 367 * DAY)),
        "group_by=colour".to_owned(),
        "group_by=tenant".to_owned(),
        "from=1500-01-01T00:00:00Z&to=1500-01-02T00:00:00Z".to_owned(),
        "limit=201".to_owned(),
        "cursor=x".to_owned(),
        format!("tenant_id={}", till.tenant),
    ] {
        till.member.get(&format!("/v1/job-usage?{wrong}")).await.expect_problem(422, "invalid-field");
    }
    till.service.stop().await;
}

/// An ended attempt as the database has it: assignment, beginning of work, charged and other seconds, price with the factor, kind.
type Ended = (i64, i64, i64, i64, Decimal, String);
/// The group of a kind and a time.
type Key = fn(&str, i64) -> String;
/// Seconds, amount, uncharged seconds and attempts of a group.
type Sum = (i64, Decimal, i64, i64);

fn amount(seconds: i64, price: Decimal) -> Decimal {
    (Decimal::from(seconds) * price / Decimal::from(3600))
        .round_dp_with_strategy(6, RoundingStrategy::MidpointNearestEven)
}

/// What a report by `key` has to say about the window, attempt by attempt and day by day.
fn expected(all: &[Ended], (from, to): (i64, i64), key: Key) -> BTreeMap<String, Sum> {
    let mut groups = BTreeMap::<String, Sum>::new();
    for (assigned, begun, seconds, uncharged, price, kind) in all {
        if (from..to).contains(assigned) {
            let group = groups.entry(key(kind, *assigned)).or_default();
            group.2 += uncharged;
            group.3 += 1;
        }
        let (mut at, end) = ((*begun).max(from), (begun + seconds).min(to));
        while at < end {
            let cut = end.min((at.div_euclid(DAY) + 1) * DAY);
            let group = groups.entry(key(kind, at)).or_default();
            group.0 += cut - at;
            group.1 += amount(cut - begun, *price) - amount(at - begun, *price);
            at = cut;
        }
    }
    groups
}

fn reported(page: &Value) -> BTreeMap<String, Sum> {
    assert_eq!(page["next_cursor"], Value::Null);
    let number_of = |group: &Value, name: &str| group[name].as_i64().unwrap();
    let items = page["items"].as_array().unwrap().iter().map(|group| {
        let sum = (
            number_of(group, "seconds"),
            number(&group["amount"]),
            number_of(group, "uncharged_seconds"),
            number_of(group, "attempts"),
        );
        (group["group"].as_str().unwrap().to_owned(), sum)
    });
    items.collect()
}

/// Whole days are read from their sums, or from what is not added to these yet: the report must not differ from one of the attempts
/// themselves.
#[tokio::test]
async fn a_report_is_the_sum_of_the_attempts_in_its_window() {
    let till = Till::new().await;
    let _ = crate::fixture::submit(&till.member, json!({})).await;
    let work = till.work().await;
    let _ = till.worker.complete(&work).await.expect(200);
    // most for minutes, some for days, of all prices, over two weeks
    till.execute(
        "insert into jobs.jobs (id, tenant_id, pool_id, application, method, kind, level, priority, class, state, ended_at, attempt)
         select gen_random_uuid(), tenant_id, pool_id, 'x', 'x', case when n % 3 > 0 then 'generation' else 'training' end,
             'ordinary', (n % 10)::int, n::text, 'succeeded', now(), 1
         from (select * from jobs.jobs limit 1) j, generate_series(1, 500) as n",
    )
    .await;
    till.execute(
        "insert into jobs.attempts (job_id, number, tenant_id, worker_id, gpu_spec, class, state, assigned_at, working_at,
             price_per_hour, level_factor, currency)
         select id, 1, tenant_id, gen_random_uuid(), 'small', class, 'open', at, at + make_interval(secs => n % 90 + 0.7),
             0.0001 * (1 + n % 9000), 1.5, 'USD'
         from (select *, class::int as n from jobs.jobs where method = 'x') j,
             lateral (select to_timestamp(1788220800 + n * 7919 % 1209600 + 0.4) as at) as t",
    )
    .await;
    let change = [
        "update jobs.attempts set state = 'succeeded', ended_at = now(), uncharged_seconds = class::int % 90,
             uncharged_reason = case when class::int % 90 > 0 then 'loading' end,
             charged_seconds = case when class::int % 10 = 0 then class::int * 997 % 400000 else class::int * 37 % 5000 end
         where state = 'open'",
        // as when a job fails in the end
        "update jobs.attempts set charged_seconds = 0, uncharged_seconds = uncharged_seconds + charged_seconds,
             uncharged_reason = 'job_failed'
         where class ~ '[05]$'",
    ];
    for (n, change) in change.into_iter().enumerate() {
        till.execute(change).await;
        if n == 0 {
            till.is_added().await;
        }
        let mut conn = till.fixture.db.admin().await;
        let all: Vec<Ended> = sqlx::query_as(
            "select floor(extract(epoch from a.assigned_at))::bigint, floor(extract(epoch from a.working_at))::bigint,
                 a.charged_seconds, a.uncharged_seconds, a.price_per_hour * a.level_factor, j.kind
             from jobs.attempts a join jobs.jobs j on j.id = a.job_id where j.method = 'x'",
        )
        .fetch_all(&mut conn)
        .await
        .unwrap();
        conn.close().await.unwrap();
        assert_eq!(all.len(), 500);
        for (from, to) in [
            (0, DAY),
            (0, 20 * DAY),
            (43_200, 50_000),
            (43_200, DAY),
            (DAY - 1, DAY + 1),
            (43_200, 100_000),
            (100_000, 9 * DAY + 1),
            (3 * DAY, 3 * DAY + 1),
            (DAY, 700_001),
            (-40 * DAY, 40 * DAY),
        ] {
            let (from, to) = (BEGIN + from, BEGIN + to);
            let keys: [(&str, Key); 2] =
                [("kind", |kind, _| kind.to_owned()), ("day", |_, at| time(at).strftime("%F").to_string())];
            for (group_by, key) in keys {
                let path = format!(
                    "/v1/job-usage?from={}&to={}&group_by={group_by}&limit=200",
                    time(from),
                    time(to)
                );
                let page = till.member.get(&path).await.expect(200).body;
                assert_eq!(reported(&page), expected(&all, (from, to), key), "{path} after {change}");
                let platform = path.replace("/v1/job-usage", "/v1/platform-job-usage");
                let admin = till.fixture.admin(&till.service);
                assert_eq!(admin.get(&platform).await.expect(200).body, page, "{platform}");
            }
        }
    }
    till.service.stop().await;
}
