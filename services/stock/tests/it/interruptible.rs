//! Interruptible claims: they get spare units only, and give them to the first claim that needs one.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::{Response, eventually};

use crate::fixture::{Fixture, Replica, instance, tenant};

const CLAIMS: &str = "/internal/v1/claims";

impl Replica {
    async fn claim_interruptible(&self, instance: &str, spec_id: &str) -> Response {
        let claim = json!({ "instance_id": instance, "tenant_id": tenant(), "gpu_spec_id": spec_id,
            "interruptible": true });
        self.service.post(CLAIMS, claim).await
    }

    async fn wait_for_unit(&self, instance: &str, spec_id: &str) -> Value {
        let wait = json!({ "tenant_id": tenant(), "gpu_spec_id": spec_id, "attempt": 1 });
        let turn = self.service.put(&format!("/internal/v1/queue/{instance}"), wait).await.expect(200);
        turn.body["claim"].clone()
    }
}

/// A fixture with one specification in one datacenter, and a number of units.
async fn fixture(units: i64, hold_back: u32) -> (Fixture, Replica, String) {
    let mut fixture = Fixture::new().await;
    fixture.config.interruptible_hold_back = hold_back;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", units).await;
    (fixture, replica, spec_id)
}

#[tokio::test]
async fn a_claim_without_a_free_unit_takes_the_one_of_the_lowest_rank() {
    let (fixture, replica, spec_id) = fixture(3, 1).await;
    let (first, second) = (instance(), instance());
    let claimed = replica.claim_interruptible(&first, &spec_id).await.expect(201);
    let _ = replica.claim_interruptible(&second, &spec_id).await.expect(201);
    // the last free unit is held back
    replica.claim_interruptible(&instance(), &spec_id).await.expect_problem(409, "stock-exhausted");
    let again = replica.claim_interruptible(&first, &spec_id).await.expect(200);
    assert_eq!(again.body, claimed.body);
    assert_eq!(replica.numbers().await, [3, 0, 0, 3], "all can be claimed");
    let row = replica.admin.get("/v1/stock").await.expect(200).body["items"][0].clone();
    assert_eq!(row["interruptible"], 2);

    let free = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(free.body["recall"], Value::Null);
    // the newest claim is taken first, unless its rank is higher
    let rank = |instance: &str, claimed_at: &Value, rank: i64| {
        let patch = json!({ "claimed_at": claimed_at, "recall_rank": rank });
        let path = format!("{CLAIMS}/{instance}");
        let service = replica.service.clone();
        async move { service.patch(&path, "*", patch).await }
    };
    let _ = rank(&first, &claimed.body["claimed_at"], -1).await.expect(204);
    rank(&first, &json!("2026-01-01T00:00:00Z"), 5).await.expect_problem(404, "not-found");
    let holder = instance();
    let taken = replica.claim(&holder, &spec_id).await.expect(201);
    assert_eq!(taken.str("unit_id"), claimed.str("unit_id"));
    assert_eq!(taken.body["recall"]["instance_id"], json!(first));
    let times = [&taken.body["claimed_at"], &taken.body["recall"]["leave_by"]]
        .map(|time| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap());
    assert_eq!(times[1].duration_since(times[0]).as_secs(), 15);
    // who did not get the answer asks again
    assert_eq!(replica.claim(&holder, &spec_id).await.expect(200).body, taken.body);
    assert_eq!(replica.service.get(&format!("{CLAIMS}/{holder}")).await.expect(200).body, taken.body);
    assert_eq!(replica.numbers().await, [1, 0, 2, 3]);

    // who has lost its claim releases nothing
    replica.service.get(&format!("{CLAIMS}/{first}")).await.expect_problem(404, "not-found");
    let claimed_at = claimed.str("claimed_at");
    let late = format!("{CLAIMS}/{first}?claimed_at={claimed_at}&attempt=1");
    let _ = replica.service.delete(&late).await.expect(204);
    assert_eq!(replica.service.get(&format!("{CLAIMS}/{holder}")).await.expect(200).body, taken.body);
    rank(&first, &json!(claimed_at), 5).await.expect_problem(404, "not-found");
    let unit = replica.admin.get(&format!("/v1/stock-units/{}", taken.str("unit_id"))).await.expect(200);
    assert_eq!(unit.body["holder"]["instance_id"], json!(holder));
    assert_eq!(unit.body["history"][0]["instance_id"], json!(first));

    let last = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(last.body["recall"]["instance_id"], json!(second));
    replica.claim(&instance(), &spec_id).await.expect_problem(409, "stock-exhausted");
    replica.release(&holder).await;
    assert_eq!(replica.numbers().await, [1, 0, 2, 3]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn the_stock_tells_what_it_would_lend() {
    let (fixture, replica, spec_id) = fixture(4, 1).await;
    let jobs = replica.base.service("jobs");
    let spare =
        async || jobs.get("/internal/v1/spare-units?gpu_spec=a").await.expect(200).body["units"].clone();
    assert_eq!(spare().await, 3);
    let _ = replica.claim_interruptible(&instance(), &spec_id).await.expect(201);
    let _ = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(spare().await, 1);
    for _ in 0..3 {
        let _ = replica.claim(&instance(), &spec_id).await.expect(201);
    }
    assert_eq!(spare().await, 0);
    let waiting = instance();
    assert_eq!(replica.wait_for_unit(&waiting, &spec_id).await, Value::Null);
    fixture.units("a", "uk-1", 3).await;
    assert_eq!(spare().await, 0, "nothing is lent while somebody waits");
    let _ = replica.service.delete(&format!("{CLAIMS}/{waiting}")).await.expect(204);
    assert_eq!(spare().await, 2);
    jobs.get("/internal/v1/spare-units?gpu_spec=b").await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn what_the_hold_back_lacks_is_wanted_back() {
    let (fixture, replica, spec_id) = fixture(4, 2).await;
    let jobs = replica.base.service("jobs");
    let wanted = async || {
        let path = "/internal/v1/spare-units?gpu_spec=a";
        jobs.get(path).await.expect(200).body["wanted_back"].clone()
    };
    let (first, second, user) = (instance(), instance(), instance());
    for lent in [&first, &second] {
        let _ = replica.claim_interruptible(lent, &spec_id).await.expect(201);
    }
    assert_eq!(wanted().await, json!([]));
    let _ = replica.claim(&user, &spec_id).await.expect(201);
    // a claim would take the newest one first
    assert_eq!(wanted().await, json!([{ "units": 1, "instances": [second, first] }]));
    let _ = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(wanted().await, json!([{ "units": 2, "instances": [second, first] }]));
    replica.release(&second).await;
    assert_eq!(wanted().await, json!([{ "units": 1, "instances": [first] }]));
    replica.release(&first).await;
    assert_eq!(wanted().await, json!([]));
    let _ = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(wanted().await, json!([]), "no unit is lent");
    fixture.assert_sound().await;
}

#[tokio::test]
async fn what_was_claimed_at_this_time_of_the_week_is_held_back() {
    let mut fixture = Fixture::new().await;
    // one window for all claims of a period
    fixture.config.recall_seconds = 1_000_000;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "0.25").await;
    let b = replica.spec("b", "0.25").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 9).await;
    fixture.units("b", "uk-1", 9).await;
    let past = "insert into stock.unit_holders
                    (unit_id, instance_id, tenant_id, claimed_at, gpu_spec_id, datacenter_id, interruptible)
                select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() - p.ago, s.id, d.id, p.interruptible
                from stock.gpu_specs s, stock.datacenters d,
                     (values (interval '7 days', 3, false), ('7 days', 5, true), ('4 days', 6, false), ('35 days', 7, false))
                         p(ago, claims, interruptible), generate_series(1, p.claims)
                where s.name = 'a'";
    assert_eq!(fixture.sql(past).await, 21);
    for _ in 0..2 {
        let _ = replica.claim(&instance(), &b).await.expect(201);
    }
    let lent = instance();
    let _ = replica.claim_interruptible(&lent, &b).await.expect(201);
    replica.release(&lent).await;
    let _ = replica.claim_interruptible(&instance(), &b).await.expect(201);
    let listed = async |spec: usize| {
        let row = replica.admin.get("/v1/stock").await.expect(200).body["items"][spec].clone();
        (row["hold_back"].clone(), row["interruptible"].clone())
    };
    assert_eq!((listed(0).await, listed(1).await), ((json!(1), json!(0)), (json!(1), json!(1))));

    let (forecasting, runtime) = fixture.doomed().await;
    let jobs = replica.base.service("jobs");
    let spare = async |spec: &str| {
        let path = format!("/internal/v1/spare-units?gpu_spec={spec}");
        jobs.get(&path).await.expect(200).body["units"].clone()
    };
    eventually("the claims of a week ago are held back", async || (spare("a").await == 6).then_some(()))
        .await;
    assert_eq!(spare("b").await, 9 - 3 - 2, "those of the last hour, too");
    assert_eq!((listed(0).await, listed(1).await), ((json!(3), json!(0)), (json!(2), json!(1))));
    for _ in 0..4 {
        let _ = replica.claim_interruptible(&instance(), &b).await.expect(201);
    }
    replica.claim_interruptible(&instance(), &b).await.expect_problem(409, "stock-exhausted");
    let _ = replica.claim(&instance(), &b).await.expect(201);
    drop(forecasting);
    runtime.shutdown_background();
}

#[tokio::test]
async fn a_released_unit_is_as_free_as_any() {
    let (fixture, replica, spec_id) = fixture(1, 0).await;
    let lent = instance();
    let _ = replica.claim_interruptible(&lent, &spec_id).await.expect(201);
    replica.release(&lent).await;
    assert_eq!(fixture.count("select count(*) from stock.interruptible_claims").await, 0);
    let claim = replica.claim(&instance(), &spec_id).await.expect(201);
    assert_eq!(claim.body["recall"], Value::Null);
    replica.claim(&instance(), &spec_id).await.expect_problem(409, "stock-exhausted");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_claims_at_once_each_unit_goes_to_one() {
    let (fixture, replica, spec_id) = fixture(12, 2).await;
    let lent: Vec<String> = (0..16).map(|_| instance()).collect();
    let claims = lent.iter().map(|instance| replica.claim_interruptible(instance, &spec_id));
    let got = futures::future::join_all(claims).await;
    assert_eq!(got.iter().filter(|answer| answer.status == 201).count(), 10, "two are held back");
    let other = fixture.replica().await;
    let wanting: Vec<String> = (0..20).map(|_| instance()).collect();
    let claims = wanting.iter().enumerate().map(|(n, instance)| match n % 2 {
        0 => replica.claim(instance, &spec_id),
        _ => other.claim(instance, &spec_id),
    });
    let answers = futures::future::join_all(claims).await;
    let claims: Vec<&Value> =
        answers.iter().filter(|answer| answer.status == 201).map(|answer| &answer.body).collect();
    assert_eq!(claims.len(), 12);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let units: BTreeSet<String> = claims.iter().map(|claim| text(&claim["unit_id"])).collect();
    assert_eq!(units.len(), 12, "a unit was given twice");
    let left: BTreeSet<String> = claims
        .iter()
        .filter(|claim| !claim["recall"].is_null())
        .map(|claim| text(&claim["recall"]["instance_id"]))
        .collect();
    assert_eq!(left.len(), 10);
    assert!(left.iter().all(|instance| lent.contains(instance)));
    assert_eq!(replica.numbers().await, [0, 0, 12, 12]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn who_waits_comes_before_interruptible_claims() {
    let (fixture, replica, spec_id) = fixture(1, 0).await;
    let (lent, waiting, next) = (instance(), instance(), instance());
    let _ = replica.claim_interruptible(&lent, &spec_id).await.expect(201);
    // who is ready to wait takes the unit at once
    let claim = replica.wait_for_unit(&waiting, &spec_id).await;
    assert_eq!(claim["recall"]["instance_id"], json!(lent));
    assert_eq!(replica.wait_for_unit(&next, &spec_id).await, Value::Null);
    // a unit that somebody waits for is not lent, although nobody has given it to them yet
    fixture.units("a", "uk-1", 1).await;
    replica.claim_interruptible(&instance(), &spec_id).await.expect_problem(409, "stock-exhausted");
    assert_eq!(replica.numbers().await, [1, 0, 1, 2]);
    fixture.assert_sound().await;
}
